package terminal

import (
	"path/filepath"
	"testing"
)

func TestChooseShellByName(t *testing.T) {
	t.Setenv("SHELL", "/bin/sh")
	if all := Shells(); all[0] != "sh" {
		t.Errorf("the person's own shell is not the first of %v", all)
	}
	for name, want := range map[string]string{"": "sh", "sh": "sh", "bash": "bash", "../bash": "sh", "cat": "sh",
		"none": "sh"} {
		if got := filepath.Base(shellFor(Spec{Shell: name})); got != want {
			t.Errorf("asked for %q it is %s", name, got)
		}
	}
}
