package terminals

import (
	"os/exec"
	"testing"
	"time"

	"github.com/ahphub/ahphub/hub/host/hosttest"
)

func TestCommandsOfATerminal(t *testing.T) { // AHP requirement 168
	bash, err := exec.LookPath("bash")
	if err != nil {
		t.Skip("no bash here")
	}
	t.Setenv("SHELL", bash)
	t.Setenv("HOME", t.TempDir())
	w := newWorld(t)
	w.open()
	changed, cancel := w.part.Changes(term1)
	defer cancel()
	w.typeKeys("printf 'a\\033[31mb\\n'; (exit 4)\r")
	over := func() bool {
		all := w.part.Commands(term1)
		return len(all) > 0 && !all[0].IsRunning()
	}
	for deadline := time.After(20 * time.Second); !over(); {
		select {
		case <-changed:
		case <-deadline:
			t.Fatalf("commands %+v", w.part.Commands(term1))
		}
	}
	first := w.part.Commands(term1)[0]
	if first.Line != `printf 'a\033[31mb\n'; (exit 4)` || *first.ExitCode != 4 || first.Duration == nil {
		t.Errorf("the command is %+v", first)
	}
	if out, ok := w.part.CommandOutput(t.Context(), term1, first.ID); out.Text != "ab\n" || out.Cut || !ok {
		t.Errorf("its output is %+v, known %v", out, ok)
	}
	hosttest.Eventually(t, "the end of the command for clients", func() bool {
		parts := w.part.commandParts(term1)
		return len(parts) > 0 && parts[0].IsComplete
	})
	w.part.remove(term1).kill() // now a terminal of an earlier run
	again := w.part.Commands(term1)
	if len(again) != 1 || again[0].Line != first.Line || *again[0].ExitCode != 4 || again[0].IsRunning() {
		t.Errorf("of an earlier run: %+v", again)
	}
	if out, ok := w.part.CommandOutput(t.Context(), term1, first.ID); out.Text != "ab\n" || !ok {
		t.Errorf("its output in an earlier run is %+v", out)
	}
	if _, ok := w.part.CommandOutput(t.Context(), term1, "c99"); ok {
		t.Error("a command that never was is known")
	}
}
