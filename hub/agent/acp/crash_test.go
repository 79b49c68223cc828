package acp_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/ahphub/ahphub/hub/agent/acp"
	"github.com/ahphub/ahphub/hub/agent/agenttest"
	"github.com/ahphub/ahphub/hub/ahp"
)

// crashing returns a world whose agent crashes once, at a stage.
func crashing(t *testing.T, mode, stage string) (*world, string) {
	t.Helper()
	prog, file := program(mode), filepath.Join(t.TempDir(), "crashed")
	prog.Env["FAKE_CRASH"] = stage + ":" + file
	return newWorld(t, acp.Backend{Program: prog}), file
}

// cleared waits until no process of the crashed agent is left.
func (w *world) cleared(file string) {
	w.t.Helper()
	var agent, child int
	w.until("it died", func() bool {
		raw, _ := os.ReadFile(file)
		n, _ := fmt.Sscan(string(raw), &agent, &child)
		return n == 2
	})
	for _, pid := range []int{agent, child} {
		w.until("its processes are gone", func() bool {
			return errors.Is(syscall.Kill(pid, 0), syscall.ESRCH) ||
				zombie(pid)
		})
	}
}

// finishes approves the requests of "stages" until its turn ends.
func (w *world) finishes() string {
	w.t.Helper()
	id := w.chat().ActiveTurn.ID
	w.do(&ahp.ChatToolCallConfirmedAction{TurnID: id, ToolCallID: w.pending().ToolCallID, Approved: true})
	w.do(&ahp.ChatInputCompletedAction{RequestID: w.asked().ID, Response: ahp.ChatInputResponseKindDecline})
	return w.ended()
}

// An agent that crashes before its session exists leaves a session that reports it and can be
// opened again.
func TestCrashDuringStart(t *testing.T) {
	for stage, want := range map[string]string{
		"start":       "Fake was ended by a signal (killed) before it introduced itself. It said: panic: at start.",
		"initialize":  "Fake was ended by a signal (killed) before it introduced itself. It said: panic: at initialize.",
		"session/new": "Fake was ended by a signal (killed). It said: panic: at session/new.",
	} {
		t.Run(strings.ReplaceAll(stage, "/", " "), func(t *testing.T) {
			w, file := crashing(t, "plain", stage)
			w.until("the session failed", func() bool { return w.session().Lifecycle == ahp.SessionLifecycleFailed })
			if s := w.session(); s.Lifecycle != ahp.SessionLifecycleFailed || s.CreationError == nil ||
				!strings.HasPrefix(s.CreationError.Message, want) {
				t.Fatalf("the session is %s: %+v", s.Lifecycle, s.CreationError)
			}
			w.cleared(file)
			wants(t, w.say("text"), "markdown Hello you\ncomplete\n")
			if w.session().Lifecycle != ahp.SessionLifecycleReady {
				t.Errorf("the session is %s", w.session().Lifecycle)
			}
		})
	}
}

// A crash in a turn ends it with its output so far, whatever it waited for, and the turn can be
// resumed.
func TestCrashAtEachStage(t *testing.T) {
	const died = "error Fake was ended by a signal (killed). It said: panic: at %s. Resume to try again.\nerror\n"
	for stage, said := range map[string]string{
		"session/prompt": "",
		"text":           "markdown half of an ans\n",
		"call":           "read cancelled",
		"ask":            "edit cancelled",
		"answered":       "edit cancelled",
		"form":           "input 1 questions \n",
		"terminal":       "edit completed true",
	} {
		t.Run(strings.ReplaceAll(stage, "/", " "), func(t *testing.T) {
			w, file := crashing(t, "loads", stage)
			id := w.begin(agenttest.User("stages"))
			switch stage {
			case "answered":
				w.do(&ahp.ChatToolCallConfirmedAction{TurnID: id, ToolCallID: w.pending().ToolCallID, Approved: true})
				w.ended()
			case "form":
				w.do(&ahp.ChatToolCallConfirmedAction{TurnID: id, ToolCallID: w.pending().ToolCallID, Approved: true})
				w.ended()
			case "terminal":
				w.finishes()
			}
			wants(t, w.ended(), said, fmt.Sprintf(died, stage))
			w.cleared(file)
			w.until("nobody is asked any more", func() bool { return w.session().InputNeeded == nil })
			w.do(&ahp.ChatTurnResumeAction{TurnID: id})
			w.until("it runs again", func() bool { return w.chat().ActiveTurn != nil })
			wants(t, w.finishes(), "edit completed true: Write [user-action]\ninput 1 questions decline\nmarkdown "+
				"the rest\ncomplete\n")
		})
	}
}

// An agent that crashes while stopping has stopped.
func TestCrashAfterCancel(t *testing.T) {
	w, file := crashing(t, "plain", "session/cancel")
	id := w.begin(agenttest.User("hold"))
	w.until("it began", func() bool { return strings.Contains(w.text(), "holding") })
	w.do(&ahp.ChatTurnCancelledAction{TurnID: id})
	wants(t, w.ended(), "markdown holding\ncancelled\n")
	w.cleared(file)
	wants(t, w.say("text"), "markdown Hello you\ncomplete\n")
}

// A crash while the program resumes its session ends the turn, which can be resumed.
func TestCrashWhileResuming(t *testing.T) {
	w, file := crashing(t, "loads", "session/load")
	wants(t, w.say("crash"), "Resume to try again.\nerror\n")
	id := w.begin(agenttest.User("text"))
	wants(t, w.ended(), "error Fake was ended by a signal (killed). It said: panic: at session/load. Resume to try "+
		"again.\nerror\n")
	w.cleared(file)
	w.do(&ahp.ChatTurnResumeAction{TurnID: id})
	w.until("it went on", func() bool {
		c := w.chat()
		return c.ActiveTurn == nil &&
			c.Turns[1].State == ahp.TurnStateComplete
	})
	wants(t, w.text(), "markdown Hello you\ncomplete\n")
}
