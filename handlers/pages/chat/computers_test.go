package chat

import (
	"testing"

	"github.com/ahphub/ahphub/hub/ahp"
	"github.com/ahphub/ahphub/hub/machine/place"
	"github.com/ahphub/ahphub/hub/machines"
)

func status(id string, online, draining bool, load float64, memory int64) machines.Status {
	return machines.Status{Machine: machines.Machine{ID: id, Name: id, Draining: draining}, Online: online,
		Report: machines.Report{Cores: 8, Load: load, FreeMemory: memory << 30}}
}

// A new session is offered on the least loaded computer among those where the newest session's repository was used.
func TestNewSessionGoesToTheLeastLoadedComputerWithTheRepository(t *testing.T) {
	p := &Pages{load: func() machines.Report { return machines.Report{Cores: 4, Load: 1, FreeMemory: 8 << 30} }}
	var agents []ahp.AgentInfo
	for _, id := range []string{"busy", "idle", "away", "drained", "roomy"} {
		agents = append(agents, ahp.AgentInfo{Provider: place.JoinProvider(id, "shell")})
	}
	joined := []machines.Status{status("busy", true, false, 7.5, 64), status("idle", true, false, 0, 4),
		status("away", false, false, 0, 64), status("drained", true, true, 0, 64), status("roomy", true, false, 0, 16),
		status("bare", true, false, 0, 64)}
	for name, test := range map[string]struct {
		recent       []string
		machine, dir string
	}{
		"no session yet":             {nil, "", ""},
		"this server alone":          {[]string{"/src/app"}, "", "/src/app"},
		"a busy machine alone":       {[]string{"/machines/busy/src/app", "/src/other"}, "busy", "/src/app"},
		"a machine with more free":   {[]string{"/machines/busy/src/app", "/machines/idle/home/app"}, "idle", "/home/app"},
		"this server has more free":  {[]string{"/machines/busy/src/app", "/srv/app"}, "", "/srv/app"},
		"more memory decides":        {[]string{"/machines/idle/app", "/machines/roomy/app"}, "roomy", "/app"},
		"closed ones are left out":   {[]string{"/machines/away/app", "/machines/drained/app", "/machines/bare/app", "/machines/busy/app"}, "busy", "/app"},
		"other repositories do not":  {[]string{"/machines/busy/src/app", "/machines/idle/src/lib"}, "busy", "/src/app"},
		"the newest directory there": {[]string{"/machines/idle/new/app", "/machines/idle/old/app"}, "idle", "/new/app"},
		"only closed ones":           {[]string{"/machines/away/app"}, "", ""},
	} {
		if machine, dir := p.leastLoaded(joined, agents, test.recent); machine != test.machine || dir != test.dir {
			t.Errorf("%s: %q on %q, want %q on %q", name, dir, machine, test.dir, test.machine)
		}
	}
}
