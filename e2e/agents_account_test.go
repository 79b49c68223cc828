package e2e

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/ahphub/ahphub/hub/ahp"
)

// Agents that require an account: without one as far as possible, and with a fake model where their
// settings allow it.

// accountAgent is such an agent with its configuration.
type accountAgent struct {
	name, program string
	args          []string
	env           func(m *model) map[string]string // for a fake model
	// message about a missing login, shown after the first prompt at the latest
	login   string
	version string // as reported by doctor
}

var accountAgents = []accountAgent{
	{name: "gemini", program: "gemini", args: []string{"--experimental-acp"},
		login: "or set GEMINI_API_KEY, then try again", version: "Gemini CLI 0.",
		env: func(m *model) map[string]string {
			return map[string]string{"GEMINI_API_KEY": "none", "GOOGLE_GEMINI_BASE_URL": m.URL}
		}},
	{name: "claude", program: "claude-agent-acp", login: "or set ANTHROPIC_API_KEY, then try again",
		version: "Claude Agent 0.", env: func(m *model) map[string]string {
			return map[string]string{"ANTHROPIC_API_KEY": "none", "ANTHROPIC_BASE_URL": m.URL}
		}},
}

// configFile configures an agent of the set, in a separate home, with the set's Node.
func (a accountAgent) configFile(t *testing.T, dir string, more map[string]string) string {
	t.Helper()
	bin, home := dir+"/node_modules/.bin", t.TempDir()
	env := map[string]string{"HOME": home, "PATH": bin + ":" + os.Getenv("PATH"), "CLAUDE_CONFIG_DIR": home + "/claude",
		"IS_SANDBOX": "1", "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1"}
	for key, value := range more {
		env[key] = value
	}
	return agentConfig(t, a.name, append([]string{bin + "/" + a.program}, a.args...), env)
}

// Without an account: doctor reports its release, and the page the required login and what to do,
// and offers a retry.
func TestAgentsWithoutAnAccount(t *testing.T) {
	dir := installed(t, "AHPHUB_AGENTS_ACCOUNT")
	for _, a := range accountAgents {
		t.Run(a.name, func(t *testing.T) {
			config := a.configFile(t, dir, nil)
			said, _ := Command(t, nil, "doctor", "--config", config, "--data", t.TempDir(), "--listen", "127.0.0.1:0")
			if !strings.Contains(said, a.version) {
				t.Errorf("doctor says\n%s", said)
			}
			h := hosting(t, config)
			h.begin("Say something")
			h.ana.Wait(fmt.Sprintf("document.body.innerText.includes(%q)", a.login))
			h.ana.Shot("login")
			h.ana.Wait("[...document.querySelectorAll('button')].some(b => /Resume|Try again/.test(b.innerText))")
		})
	}
}

// With a fake model: streamed text, and an edit that asks for approval and is written to disk.
func TestAgentsWithAnAccount(t *testing.T) {
	dir := installed(t, "AHPHUB_AGENTS_ACCOUNT")
	for _, a := range accountAgents {
		t.Run(a.name, func(t *testing.T) {
			m := startModel(t)
			h := hosting(t, a.configFile(t, dir, a.env(m)))
			h.begin("Say something about pelicans")
			if turn := h.turn(1); turn.State != ahp.TurnStateComplete {
				t.Fatalf("the turn is %s: %s", turn.State,
					Eval[string](h.ana, "document.querySelector('main').innerText"))
			}
			h.ana.WaitText("#turns", "First half, second half.")
			h.ana.Wait("document.querySelector('#setting-model') && document.querySelector('#setting-mode')")
			h.say("write: " + h.repo + "/made.txt")
			h.approve("made.txt")
			h.turn(2)
			if b, err := os.ReadFile(h.repo + "/made.txt"); strings.TrimSpace(string(b)) != "one\ntwo" {
				t.Errorf("the file holds %q (%v)", b, err)
			}
			h.ana.WaitText("#turns .chip", "in 1 file")
			h.converged()
			h.ana.Pictures("end", "#turns")
		})
	}
}
