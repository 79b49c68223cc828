package acp_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/ahphub/ahphub/hub/agent"
	"github.com/ahphub/ahphub/hub/agent/acp"
	"github.com/ahphub/ahphub/hub/agent/agenttest"
	"github.com/ahphub/ahphub/hub/ahp"
)

// The chat shows that a program retries silently, with its log but without its credentials, until
// it sends anything. While the program runs a tool, the chat shows that instead.
func TestSilentAgentIsShown(t *testing.T) {
	w := newWorld(t, acp.Backend{Program: program("plain"), Limits: acp.Limits{Silent: 20 * time.Millisecond}})
	open := filepath.Join(w.dir, "open")
	w.begin(agenttest.User("retry " + open))
	chat := w.session().DefaultChat
	w.until("the chat says that there is no answer", func() bool {
		return strings.HasPrefix(w.chat().Activity, agent.NoAnswerFor)
	})
	var logged string
	w.until("its log is there", func() bool {
		logged = strings.Join(w.host.AgentLog(chat), "\n")
		return strings.Contains(logged, "attempt 2")
	})
	if want := "attempt 1 failed: 529 overloaded\nrequest with Authorization: Bearer •••\nhttps://ana:•••@proxy.example/ " +
		"refused, key sk-•••\nattempt 2"; logged != want {
		t.Errorf("its log is shown as\n%s\nwant\n%s", logged, want)
	}
	w.must(os.WriteFile(open, nil, 0o600))
	w.until("its next event takes that away", func() bool {
		return w.chat().Activity == "" && strings.Contains(w.text(), "back")
	})
	if w.chat().ActiveTurn == nil {
		t.Fatal("the turn ended by itself")
	}
	if got := w.host.AgentLog(chat); len(got) > 0 {
		t.Errorf("its log is still there: %q", got)
	}
	w.must(os.Remove(open)) // it ends
	w.ended()
	w.begin(agenttest.User("hold"))
	w.until("the chat says so again", func() bool { return strings.HasPrefix(w.chat().Activity, agent.NoAnswerFor) })
	w.do(&ahp.ChatTurnCancelledAction{TurnID: w.chat().ActiveTurn.ID})
	w.until("the end of the turn takes it away", func() bool {
		return w.chat().ActiveTurn == nil && w.chat().Activity == ""
	})
}
