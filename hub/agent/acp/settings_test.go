package acp_test

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/ahphub/ahphub/hub"
	"github.com/ahphub/ahphub/hub/agent/acp"
	"github.com/ahphub/ahphub/hub/agent/agenttest"
	"github.com/ahphub/ahphub/hub/ahp"
	"github.com/ahphub/ahphub/hub/host"
)

// set changes a setting as a person does.
func (w *world) set(key, value string) string {
	w.t.Helper()
	w.seq++
	o, err := w.host.Dispatch(w.t.Context(), w.caller, session, w.seq,
		&ahp.SessionConfigChangedAction{Config: ahp.Meta{key: json.RawMessage(value)}})
	w.must(err)
	return o.Rejected
}

func (w *world) value(key string) string { return string(w.session().Config.Values[key]) }

// Modes, models and options are settings of the session; changes by either side reach the other.
func TestSettings(t *testing.T) {
	w := newWorld(t, acp.Backend{Program: program("rich")})
	w.until("the agent told its settings", func() bool { return w.value("mode") != "" })
	schema := host.Settings(w.session()).Schema.Properties
	for key, want := range map[string]string{
		"mode":   `{"type":"string","title":"Mode","default":"code","enum":["code","plan"],"enumLabels":["Code","Plan"],"enumDescriptions":["","Only thinks"],"sessionMutable":true}`,
		"model":  `{"type":"string","title":"Model","default":"small","enum":["small","large"],"enumLabels":["Small","Large"],"enumDescriptions":["",""],"sessionMutable":true}`,
		"effort": `{"type":"string","title":"Effort","default":"low","enum":["low","high"],"enumLabels":["Usual: Low","Usual: High"],"enumDescriptions":["",""],"sessionMutable":true}`,
		"web":    `{"type":"boolean","title":"Web search","default":false,"sessionMutable":true}`,
	} {
		if raw, _ := json.Marshal(schema[key]); string(raw) != want {
			t.Errorf("%s is %s", key, raw)
		}
	}
	if _, ok := schema["later"]; ok {
		t.Error("an option of a kind that is not known is a setting")
	}
	wants(t, w.say("mode"), "{mode:code model:small effort:low web:false}")

	for key, value := range map[string]string{"mode": `"plan"`, "effort": `"high"`, "web": `true`} {
		if why := w.set(key, value); why != "" {
			t.Errorf("%s was refused: %s", key, why)
		}
	}
	wants(t, w.say("mode"), "{mode:plan model:small effort:high web:true}")

	if why := w.set("mode", `"dream"`); !strings.Contains(why, `it is one of "code", "plan"`) {
		t.Errorf("a mode that is none was answered with %q", why)
	}
	w.say("switch code")
	w.until("the agent's own mode is seen", func() bool { return w.value("mode") == `"code"` })
}

func TestRefusedSetting(t *testing.T) {
	w := newWorld(t, acp.Backend{Program: program("rich")})
	w.say("mode")
	w.set("model", `"large"`)
	wants(t, w.say("mode"), "model:large")
	w.set("mode", `"plan"`)
	w.until("it stands where it was", func() bool { return w.value("mode") == `"code"` })
	wants(t, w.say("mode"), "notice Mode stays as it was: Fake answered with an error: Large cannot plan", "mode:code")
}

// Newer programs have only options; one with the name of a host setting gets another key.
func TestOptionsStandForModes(t *testing.T) {
	w := newWorld(t, acp.Backend{Program: program("options")})
	w.until("the agent told its settings", func() bool { return w.value("approval-2") != "" })
	if got := w.value("approval-2"); got != `"code"` {
		t.Errorf("the mode is %s in %v", got, w.session().Config.Values)
	}
	w.set("approval-2", `"plan"`)
	w.until("the agent has it", func() bool { return strings.Contains(w.say("mode"), "mode:plan") })
	if w.value("approval") != `"ask"` {
		t.Error("the host's own setting was changed")
	}
}

// An agent's reports are known before it runs again.
func TestRemembered(t *testing.T) {
	file := filepath.Join(t.TempDir(), "agents", "fake.json")
	w := newWorld(t, acp.Backend{Program: program("rich"), Memory: acp.Remember(file)})
	w.say("mode")
	again := acp.Backend{Program: program("rich"), Memory: acp.Remember(file)}
	if got := again.Config().Properties["mode"].EnumLabels; len(got) != 2 || got[1] != "Plan" {
		t.Errorf("the modes are %v", got)
	}
	info, err := again.Describe(t.Context())
	w.must(err)
	if len(info.Models) != 2 || info.Models[1].ID != "large" || info.Models[1].Name != "Large" {
		t.Errorf("the models are %+v", info.Models)
	}
	if c := again.Commands(); len(c) != 3 || c[0].Name != "review" || c[0].Hint != "what to look at" {
		t.Errorf("the commands are %+v", c)
	}
}

// A session is made with the chosen settings, and a message can name a model.
func TestChosenSettings(t *testing.T) {
	memory := acp.Remember("")
	newWorld(t, acp.Backend{Program: program("rich"), Memory: memory}).say("mode")
	prog := program("rich")
	prog.Model = "large"
	w := newWorldWith(t, acp.Backend{Program: prog, Memory: memory}, ahp.Meta{"effort": json.RawMessage(`"high"`)})
	if w.session().Meta["ahphub/settings"] != nil {
		t.Error("what is known already is told again")
	}
	wants(t, w.say("mode"), "{mode:code model:large effort:high web:false}")
	m := agenttest.User("mode")
	m.Model = &ahp.ModelSelection{ID: "small"}
	w.begin(m)
	wants(t, w.ended(), "model:small")
	if w.value("model") != `"small"` {
		t.Errorf("the session's model is %s", w.value("model"))
	}
	if used := w.chat().Turns[1].Usage; used == nil || used.Model != "small" {
		t.Errorf("the usage is %+v", used)
	}
	m.Model = &ahp.ModelSelection{ID: "huge"}
	w.begin(m)
	wants(t, w.ended(), `notice Model stays as it was: Model cannot be "huge". Use one of: small, large`, "model:small")
	root, _ := hub.StateOf[*ahp.RootState](w.hub, ahp.RootURI)
	if models := root.Agents[0].Models; len(models) != 2 || models[0].ID != "small" {
		t.Errorf("pickers show %+v", models)
	}
}

func TestCommands(t *testing.T) {
	w := newWorld(t, acp.Backend{Program: program("rich")})
	w.say("mode")
	ask := func(text string) (out []string) {
		res, err := w.host.Completions(t.Context(), w.caller,
			ahp.CompletionsParams{Channel: w.session().DefaultChat, Kind: "userMessage", Text: text,
				Offset: int64(len(text))})
		w.must(err)
		for _, i := range res.Items {
			out = append(out, i.InsertText)
		}
		return out
	}
	for text, want := range map[string]string{"/": "/review |/compact |/compact all ",
		"/comp": "/compact |/compact all ", "/compact a": "/compact all ", "see /comp": "", "/nothing": "",
		"/review x": ""} {
		if got := strings.Join(ask(text), "|"); got != want {
			t.Errorf("%q offers %q", text, got)
		}
	}
	wants(t, w.say("/review the change"), "got: /review the change")
}

// The agent's title replaces the first line, but not a title that a person wrote.
func TestTitleAndCost(t *testing.T) {
	w := newWorld(t, acp.Backend{Program: program("plain")})
	w.say("title Mending the gate")
	w.until("the session has the title", func() bool { return w.session().Title == "Mending the gate" })
	if used := w.chat().Turns[0].Usage; used == nil ||
		string(used.Meta["acp"]) != `{"contextSize":10,"contextUsed":5,"cost":0.5,"currency":"USD","turnCost":0.5}` ||
		*used.OutputTokens != 5 {
		t.Errorf("the usage is %+v", used)
	}
	w.seq++
	_, err := w.host.Dispatch(t.Context(), w.caller, session, w.seq, &ahp.SessionTitleChangedAction{Title: "Gate"})
	w.must(err)
	w.say("title Another")
	if w.session().Title != "Gate" {
		t.Errorf("the title is %q", w.session().Title)
	}
	// the program reports the cost of its whole session, which the second turn did not raise
	if used := w.chat().Turns[1].Usage; !strings.Contains(string(used.Meta["acp"]), `"turnCost":0}`) {
		t.Errorf("the usage of the second turn is %s", used.Meta["acp"])
	}
}

// Settings that were not chosen are left to the agent, whose default may have changed.
func TestDefaultsBelongToAgent(t *testing.T) {
	memory := acp.Remember("")
	newWorld(t, acp.Backend{Program: program("rich"), Memory: memory}).say("mode")
	if got := string((acp.Backend{Program: program("rich"),
		Memory: memory}).Config().Properties["mode"].Default); got != `"code"` {
		t.Errorf("the form begins with %s", got)
	}
	w := newWorld(t, acp.Backend{Program: program("planner"), Memory: memory})
	wants(t, w.say("mode"), "mode:plan")
	if w.value("mode") != `"plan"` {
		t.Errorf("the session says %s", w.value("mode"))
	}
}

// A setting that changes while the program is stopped applies to the next message, and earlier
// changes still apply.
func TestSettingsAcrossIdleStop(t *testing.T) {
	w := newWorld(t, acp.Backend{Program: program("rich"), Limits: acp.Limits{Idle: 20 * time.Millisecond}})
	w.say("text")
	w.set("effort", `"high"`)
	pid, err := strconv.Atoi(strings.Fields(w.say("pid"))[1])
	w.must(err)
	w.until("the program is stopped", func() bool { return errors.Is(syscall.Kill(pid, 0), syscall.ESRCH) })
	w.set("mode", `"plan"`)
	wants(t, w.say("mode"), "{mode:plan model:small effort:high web:false}")
}

func TestConfinedSession(t *testing.T) {
	prog := program("plain")
	prog.Dirs = []string{os.TempDir()} // where the tests' directories are
	w := newWorld(t, acp.Backend{Program: prog})
	err := w.host.CreateSession(t.Context(), w.caller,
		ahp.CreateSessionParams{Channel: "ahp-session:/two", WorkingDirectories: []ahp.URI{"file:///"}})
	if err == nil || !strings.Contains(err.Error(), "Fake works only in "+os.TempDir()+"") {
		t.Errorf("a directory outside: %v", err)
	}
}
