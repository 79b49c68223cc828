package main

import (
	"encoding/base64"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/ahphub/ahphub/hub/agent"
	"github.com/ahphub/ahphub/hub/agent/acp"
	"github.com/ahphub/ahphub/hub/agent/agenttest"
	"github.com/ahphub/ahphub/hub/ahp"
	"github.com/ahphub/ahphub/hub/machine"
	"github.com/ahphub/ahphub/hub/sandbox"
)

// A compromised hub sends arbitrary programs and policies to a machine with sandboxes. They can
// access the directories of --dir and the hub's tools, which require a token, but neither the
// machine's identity nor anything else of its user.
func TestProgramsOfAHostileHubStayInTheMachinesSandbox(t *testing.T) {
	home, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv("HOME", home)
	dir := filepath.Join(home, "src")
	for _, made := range []string{dir, filepath.Join(home, ".ssh"), filepath.Join(home, "private")} {
		if err := os.MkdirAll(made, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	for _, secret := range []string{".ssh/id", "private/note"} {
		if err := os.WriteFile(filepath.Join(home, secret), []byte("canary"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	w := newJoinWorld(t)
	var box *joined
	w.join(t, dir, func(m *joined) {
		box, m.home, m.sandbox = m, home, sandboxConfig{Sandbox: string(sandbox.Auto)}
		m.data = filepath.Join(home, "data")
		m.path = filepath.Join(m.data, "machine", "id.json")
	})
	member := w.member(t, "joining", isOnline)[0]
	if member.Sandbox != string(sandbox.Namespace) && member.Sandbox != string(sandbox.Landlock) {
		if os.Getenv("AHPHUB_REQUIRE_SPEC") == "1" {
			t.Fatalf("the machine has the sandbox %q", member.Sandbox)
		}
		t.Skip("there are no sandboxes here")
	}
	script := `cat "$0/machine/id.json" "$1/.ssh/id" "$1/private/note" 2>/dev/null; ls "$0" 2>/dev/null; echo kept > kept.txt
exec 3<>/dev/tcp/127.0.0.1/$2; printf 'GET /mcp HTTP/1.0\r\n\r\n' >&3; head -1 <&3; echo done`
	for what, policy := range map[string]*sandbox.Policy{"none": nil, "its own": {Session: "s1", Auto: true,
		Network: sandbox.Closed, Write: []string{dir}, Home: []string{".ssh"}, Own: []string{"other"}}} {
		_ = os.Remove(filepath.Join(dir, "kept.txt"))
		var said strings.Builder
		p, err := member.Machine.Terminals().Start(t.Context(), machine.TerminalSpec{Dir: dir, Sandbox: policy,
			Command: []string{"bash", "-c", script, box.data, home, strconv.Itoa(box.door.Port())}}, func(actions []ahp.Action) {
			for _, a := range actions {
				if data, ok := a.(*ahp.TerminalDataAction); ok {
					said.WriteString(string(data.Data))
				}
			}
		})
		if err != nil {
			t.Fatalf("with the policy %s: %v", what, err)
		}
		<-p.Done()
		code, _ := p.ExitCode() // it is held until here, because a machine forgets a terminal without holders
		if text := said.String(); !strings.Contains(text, "403 Forbidden") || !strings.Contains(text, "done") || strings.Contains(text, "canary") ||
			strings.Contains(text, "seed") || strings.Contains(text, "machine") {
			t.Errorf("with the policy %s a program shows %q, and ends with %d", what, text, code)
		}
		if kept, err := os.ReadFile(filepath.Join(dir, "kept.txt")); err != nil || string(kept) != "kept\n" {
			t.Errorf("with the policy %s a program writes %q, %v", what, kept, err)
		}
	}
	for _, wide := range []string{home, filepath.Join(home, "private"), box.data, "/"} {
		_, err := member.Machine.Terminals().Start(t.Context(), machine.TerminalSpec{Dir: dir, Command: []string{"true"},
			Sandbox: &sandbox.Policy{Session: "s2", Auto: true, Network: sandbox.Closed, Write: []string{dir}, Read: []string{wide}}},
			func([]ahp.Action) {})
		if err == nil || !strings.Contains(err.Error(), "cannot be used") {
			t.Errorf("a policy that reads %s: %v", wide, err)
		}
	}
}

// Machines rarely run as root.
func TestMachinesSandboxHoldsForUserWhoIsNotRoot(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("the other tests are run by such a user")
	}
	const nobody = 65534
	dir, err := os.MkdirTemp("", "nobody") // the test's directories are closed to other users
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	program, home := filepath.Join(dir, "ahphub.test"), filepath.Join(dir, "home")
	if err := copyOwnProgram(program); err != nil {
		t.Fatal(err)
	}
	for _, err := range []error{os.Mkdir(home, 0o700), os.Chown(home, nobody, nobody), os.Chmod(dir, 0o755)} {
		if err != nil {
			t.Fatal(err)
		}
	}
	const test = "TestProgramsOfAHostileHubStayInTheMachinesSandbox"
	cmd := exec.Command(program, "-test.v", "-test.run", "^"+test+"$")
	cmd.Dir = home
	cmd.Env = append(os.Environ(), "HOME="+home, "TMPDIR="+home, "XDG_RUNTIME_DIR=")
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody},
		Pdeathsig: syscall.SIGKILL}
	out, err := cmd.CombinedOutput()
	switch text := string(out); {
	case strings.Contains(text, "--- SKIP: "+test+" "):
		t.Skip(text)
	case err != nil || !strings.Contains(text, "--- PASS: "+test+" "):
		t.Errorf("%v\n%s", err, out)
	}
}

// copyOwnProgram copies the test binary to a path where every user can run it.
func copyOwnProgram(to string) error {
	own, err := os.Open("/proc/self/exe")
	if err != nil {
		return err
	}
	defer own.Close()
	f, err := os.OpenFile(to, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o755)
	if err != nil {
		return err
	}
	_, err = io.Copy(f, own)
	if closed := f.Close(); err == nil {
		err = closed
	}
	if err != nil {
		return fmt.Errorf("the program cannot be copied: %w", err)
	}
	return nil
}

// fileReader is an agent without support for images in messages that prints the content of the
// given file instead.
const fileReader = `#!/bin/sh
while read -r line; do
	id=$(printf %s "$line" | sed 's/.*"id":\([0-9]*\).*/\1/')
	case $line in
	*'"initialize"'*) answer='{"protocolVersion":1,"agentInfo":{"name":"fake","version":"1"}}' ;;
	*'"session/new"'*) answer='{"sessionId":"s1"}' ;;
	*'"session/prompt"'*)
		path=$(printf %s "$line" | sed 's|.*"uri":"file://\([^"]*\)".*|\1|')
		echo '{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s1","update":{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"'"$path has $(cat "$path")"'"}}}}'
		answer='{"stopReason":"end_turn"}' ;;
	*) continue ;;
	esac
	echo '{"jsonrpc":"2.0","id":'"$id"',"result":'"$answer}"
done
`

// A message's attachments are on the machine before the agent there is prompted, also in its
// sandbox, and the agent gets their paths.
func TestAttachmentsReachAgentsOnMachines(t *testing.T) {
	for _, mode := range []sandbox.Mode{sandbox.None, sandbox.Auto} {
		t.Run(string(mode), func(t *testing.T) {
			home, err := filepath.EvalSymlinks(t.TempDir())
			if err != nil {
				t.Fatal(err)
			}
			t.Setenv("HOME", home)
			dir, program := filepath.Join(home, "src"), filepath.Join(home, "reader")
			if err := os.Mkdir(dir, 0o700); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(program, []byte(fileReader), 0o700); err != nil {
				t.Fatal(err)
			}
			w := newJoinWorld(t)
			data := filepath.Join(home, "data")
			w.join(t, dir, func(m *joined) {
				m.home, m.data, m.path = home, data, filepath.Join(data, "machine", "id.json")
				m.sandbox = sandboxConfig{Sandbox: string(mode)}
				m.programs = map[string]acp.Program{"fake": {Name: "fake", Title: "Fake", Command: program}}
			})
			box := w.member(t, "joining", isOnline)[0]
			s, err := box.Machine.Agents()["fake"].Open(t.Context(), agent.Spec{Session: "ahp-session:/1", Dirs: []string{dir},
				Sent: "/of/the/hub", Host: &agenttest.Host{}, Config: func(string) string { return "" }})
			if err != nil {
				t.Fatal(err)
			}
			message := agenttest.User("What is this?")
			message.Attachments = []ahp.MessageAttachment{{Value: &ahp.MessageEmbeddedResourceAttachment{Label: "a.png",
				ContentType: "image/png", Data: base64.StdEncoding.EncodeToString([]byte("pixels"))}}}
			turn, prompt := agenttest.New(message)
			prompt.History = []*ahp.Turn{{ID: "turn-0", Message: agenttest.User(strings.Repeat("long ", 10<<20))}}
			if err := s.Prompt(t.Context(), prompt); err != nil {
				t.Fatal(err)
			}
			said := agenttest.Text(turn.End(nil))
			if !strings.Contains(said, data+"/") || !strings.Contains(said, "has pixels") {
				t.Errorf("the agent says %q", said)
			}
			if err := s.Close(); err != nil {
				t.Error(err)
			}
		})
	}
}
