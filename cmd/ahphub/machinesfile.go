package main

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/ahphub/ahphub/hub/access"
	"github.com/ahphub/ahphub/hub/machines"
)

// machinesFile records which machines are connected. It is a file because `ahphub doctor` is a
// separate process without a token.
const machinesFile = "machines.json"

// savedMachine is what `ahphub doctor` reports about a machine.
type savedMachine struct {
	Name    string    `json:"name"`
	Online  bool      `json:"online"`
	Since   time.Time `json:"since,omitzero"`
	Version string    `json:"version,omitempty"`
	Running int       `json:"running,omitempty"` // sessions that wait for an offline machine
	Refused string    `json:"refused,omitempty"` // why its last connection was refused
}

// keepMachinesFile updates the file until ctx ends, and then removes it.
func (a *app) keepMachinesFile(ctx context.Context) {
	path := filepath.Join(a.cfg.Data, machinesFile)
	if a.machines == nil {
		_ = os.Remove(path) // from an earlier run
		return
	}
	defer os.Remove(path)
	changed, cancel := a.machines.Watch()
	defer cancel()
	var last []byte
	for {
		now, err := json.Marshal(saveMachines(a.machines.List(), a.runningOn))
		if err == nil && !bytes.Equal(now, last) {
			if err = access.WriteSecret(path, append(now, '\n')); err == nil {
				last = now
			}
		}
		if err != nil {
			a.log.Warn("ahphub doctor does not know the machines", "err", err)
		}
		select {
		case <-time.After(time.Second):
		case <-ctx.Done():
			return
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return
		}
	}
}

func saveMachines(list []machines.Status, running func(id string) []string) []savedMachine {
	all := make([]savedMachine, len(list))
	for i, s := range list {
		all[i] = savedMachine{Name: s.Name, Online: s.Online, Since: s.Since, Version: s.Report.Version, Refused: s.Refused}
		if !s.Online {
			all[i].Running = len(running(s.ID))
		}
	}
	return all
}

// checkMachines reports the machines of a running server.
func checkMachines(data string) []finding {
	raw, err := os.ReadFile(filepath.Join(data, machinesFile))
	if errors.Is(err, fs.ErrNotExist) {
		return nil // no server runs, or it has no machines
	}
	var list []savedMachine
	if err == nil {
		err = json.Unmarshal(raw, &list)
	}
	if err != nil {
		return []finding{{text: "machines: " + err.Error()}}
	}
	var all []finding
	for _, m := range list {
		all = append(all, judgeMachine(m, versionName()))
	}
	return all
}

// judgeMachine returns the finding for a machine of a server with this version.
func judgeMachine(m savedMachine, version string) finding {
	switch {
	case m.Online && m.Version != version:
		return finding{text: fmt.Sprintf("machine %s runs ahphub %s, and this is %s: update the older one", m.Name,
			cmp.Or(m.Version, "of an unknown version"), version)}
	case m.Online:
		return finding{good: true, text: "machine " + m.Name + " is connected"}
	case m.Refused != "":
		return finding{text: "machine " + m.Name + " could not connect: " + m.Refused}
	case m.Since.IsZero():
		return finding{text: "machine " + m.Name + " has not connected yet: run ahphub join there"}
	}
	text := fmt.Sprintf("machine %s is offline since %s", m.Name, m.Since.UTC().Format("2006-01-02 15:04 UTC"))
	if m.Running > 0 {
		text += fmt.Sprintf(", with %d sessions whose turns wait for it", m.Running)
	}
	return finding{text: text + ": start ahphub join there, or revoke it on the Machines page"}
}
