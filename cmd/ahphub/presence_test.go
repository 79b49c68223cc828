package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/ahphub/ahphub/hub/ahp"
	"github.com/ahphub/ahphub/hub/machine/place"
	"github.com/ahphub/ahphub/hub/machines"
)

// The number of machines with their own series is limited; the rest are added up.
func TestMetricsOfMachinesAreBounded(t *testing.T) {
	var list []machines.Status
	var sessions []ahp.SessionSummary
	for i := range 300 {
		id := fmt.Sprint("m", i)
		list = append(list, machines.Status{Machine: machines.Machine{ID: id, Name: "box" + id}, Online: i%2 == 0,
			Connections: 2, Received: 10})
		sessions = append(sessions, ahp.SessionSummary{Provider: place.JoinProvider(id, "opencode"),
			Status: ahp.SessionStatusInProgress})
	}
	sessions = append(sessions, ahp.SessionSummary{Provider: place.JoinProvider("m0", "opencode"), Status: ahp.SessionStatusIdle},
		ahp.SessionSummary{Provider: "opencode", Status: ahp.SessionStatusInProgress})
	got := map[string]float64{}
	for _, m := range machineMetrics(func() map[string]*machineCounts { return countMachines(list, sessions) }) {
		n := 0
		m.Each(func(value float64, labels ...string) {
			if n++; len(labels) != len(m.Labels) {
				t.Errorf("%s has the labels %q", m.Name, labels)
			}
			got[m.Name+" "+strings.Join(labels, " ")] = value
		})
		if n > 2*(mostMetered+1) {
			t.Errorf("%s has %d series", m.Name, n)
		}
	}
	for series, want := range map[string]float64{
		"ahphub_machine_connected boxm0":            1,
		"ahphub_machine_connected boxm1":            0,
		"ahphub_machine_connected other":            100,
		"ahphub_machine_sessions boxm0":             2,
		"ahphub_machine_sessions_running boxm0":     1,
		"ahphub_machine_sessions other":             200,
		"ahphub_machine_connections_total boxm1":    2,
		"ahphub_machine_bytes_total other received": 2000,
	} {
		if got[series] != want {
			t.Errorf("%s is %v, want %v", series, got[series], want)
		}
	}
}

// The doctor reports machines that are away or of another version, and the remedy.
func TestDoctorKnowsMachines(t *testing.T) {
	data := t.TempDir()
	if all := checkMachines(data); len(all) != 0 {
		t.Errorf("without a server: %+v", all)
	}
	since := time.Date(2026, 5, 6, 7, 8, 0, 0, time.UTC)
	for _, test := range []struct {
		machine savedMachine
		good    bool
		want    string
	}{
		{savedMachine{Name: "box2", Online: true, Version: versionName()}, true, "machine box2 is connected"},
		{savedMachine{Name: "box2", Online: true, Version: "v0.1"}, false, "runs ahphub v0.1, and this is " + versionName()},
		{savedMachine{Name: "box2", Since: since, Version: "v0.1", Running: 2}, false,
			"offline since 2026-05-06 07:08 UTC, with 2 sessions"},
		{savedMachine{Name: "box2"}, false, "has not connected yet"},
	} {
		if f := judgeMachine(test.machine, versionName()); f.good != test.good || f.hard || !strings.Contains(f.text, test.want) {
			t.Errorf("%+v is judged %+v", test.machine, f)
		}
	}
	if err := os.WriteFile(filepath.Join(data, machinesFile), []byte(`[{"name":"box2"`), 0o600); err != nil {
		t.Fatal(err)
	}
	if all := checkMachines(data); len(all) != 1 || all[0].hard {
		t.Errorf("a file that is cut off: %+v", all)
	}
}
