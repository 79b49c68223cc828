package main

import (
	"strings"
	"testing"

	"github.com/ahphub/ahphub/hub/sandbox/box"
)

func TestDoctorSaysWhetherSandboxesWork(t *testing.T) {
	const install = "apt-get install bubblewrap"
	for _, test := range []struct {
		report box.Report
		mode   string
		want   []string
		good   bool
		hard   bool
	}{
		{box.Report{}, "none", []string{"switched off", "--sandbox auto"}, false, false},
		{box.Report{}, "auto", []string{"work here"}, true, false},
		{box.Report{Open: "install passt"}, "namespace", []string{"sessions use them", "install passt"}, true, false},
		{box.Report{Namespace: install, Open: install}, "auto", []string{install, "can do what you can"}, false, false},
		{box.Report{Namespace: install, Open: install}, "namespace", []string{install}, false, true},
	} {
		var text strings.Builder
		found := describeSandbox(test.report, test.mode)
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
