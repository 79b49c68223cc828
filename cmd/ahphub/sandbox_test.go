package main

import (
	"strings"
	"testing"

	"github.com/ahphub/ahphub/hub/sandbox/box"
)

func TestDoctorSaysWhetherSandboxesWork(t *testing.T) {
	const none = "no Landlock"
	const install = "apt-get install bubblewrap"
	for _, test := range []struct {
		report        box.Report
		mode, network string
		want          []string
		good          bool
		hard          bool
	}{
		{box.Report{}, "none", "open", []string{"switched off", "--sandbox auto"}, false, false},
		{box.Report{}, "auto", "open", []string{"work here"}, true, false},
		{box.Report{ABI: 7}, "landlock", "open", []string{"Landlock alone (version 7)"}, true, false},
		{box.Report{Landlock: none}, "landlock", "open", []string{none}, false, true},
		{box.Report{}, "landlock", "list", []string{"--sandbox namespace"}, false, true},
		{box.Report{Namespace: install, Open: install, ABI: 6}, "auto", "open", []string{"version 6", install}, false, false},
		{box.Report{Engine: "podman"}, "container", "open", []string{"containers work here (podman, image tools)"}, true, false},
		{box.Report{Engine: "podman"}, "auto", "open", []string{"can choose a container (podman, image tools)"}, true, false},
		{box.Report{Container: "install podman"}, "container", "none", []string{"install podman"}, false, true},
		{box.Report{Container: "install podman"}, "auto", "open", []string{"cannot choose a container: install podman"}, true, false},
		{box.Report{ContainerOpen: "install passt"}, "container", "open", []string{"install passt"}, false, true},
		{box.Report{ContainerOpen: "install passt"}, "container", "none", []string{"work here", "install passt"}, true, false},
		{box.Report{Groups: "no Delegate"}, "auto", "open", []string{"are not bounded here: no Delegate"}, true, false},
		{box.Report{Open: "install passt"}, "namespace", "none", []string{"sessions use them", "install passt"}, true,
			false},
		{box.Report{Open: "install passt", Landlock: none}, "auto", "open", []string{"install passt", "can do what you can"}, false, false},
		{box.Report{Open: "install passt"}, "namespace", "open", []string{"install passt"}, false, true},
		{box.Report{Namespace: install, Open: install, Landlock: none}, "auto", "open", []string{install, "can do what you can"}, false,
			false},
		{box.Report{Namespace: install, Open: install}, "namespace", "none", []string{install}, false, true},
	} {
		var text strings.Builder
		found := describeSandbox(test.report, sandboxConfig{Sandbox: test.mode, SandboxImage: "tools", SandboxNetwork: test.network})
		for _, f := range found {
			text.WriteString(f.text + "\n")
		}
		for _, want := range test.want {
			if !strings.Contains(text.String(), want) {
				t.Errorf("%+v with %s lacks %q: %s", test.report, test.mode, want, &text)
			}
		}
		if found[0].good != test.good || found[0].hard != test.hard {
			t.Errorf("%+v with %s: %+v", test.report, test.mode, found[0])
		}
	}
}
