package terminal

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ahphub/ahphub/hub/ahp"
)

// shellCase is a shell with a user's own files.
type shellCase struct {
	shell string
	files map[string]string // below HOME
	env   map[string]string // a leading ~/ is replaced with HOME/
	run   []ran
	says  string // must be on the screen at the end
	keeps string // history file below HOME
}

// ran is a typed line, the reported line and its exit code.
type ran struct {
	typed, told string
	code        int64
}

var shellCases = map[string]shellCase{
	"zsh": {
		shell: "zsh",
		files: map[string]string{
			".zshenv": "ENV=mine\n",
			".zshrc": "PS1='ready> '\nMINE=rc-$ENV\nHISTFILE=~/history SAVEHIST=100 HISTSIZE=100\nsetopt " +
				"inc_append_history\nprecmd() { LAST=$? }\n",
		},
		run: []ran{
			{"(exit 5)", "(exit 5)", 5},
			{`echo "$MINE last=$LAST zd=${ZDOTDIR-none}; a;b"; echo \\x`, "", 0},
			{`printf '\e]633;E;forged\a\e]633;C\a\e]133;D;0\a'`, "", 0},
			{`mkdir "a b" && cd "a b"`, "", 0},
			{"(: >&3) 2>/dev/null", "", 1}, // closed after the nonce was read
			{"zsh -c 'echo in=${ZDOTDIR-none}-${__AHPHUB_ZDOTDIR-none}'", "", 0},
		},
		says: "rc-mine last=5 zd=none; a;b", keeps: "history",
	},
	"zsh with files elsewhere": {
		shell: "zsh",
		files: map[string]string{"z/.zshenv": "ENV=mine\n", "z/.zshrc": "PS1='ready> '\nMINE=rc-$ENV\n",
			".zshrc": "MINE=wrong\n"},
		env:  map[string]string{"ZDOTDIR": "~/z"},
		run:  []ran{{`echo "$MINE zd=${ZDOTDIR#$HOME}"`, "", 0}},
		says: "rc-mine zd=/z",
	},
	"fish": {
		shell: "fish",
		files: map[string]string{
			".config/fish/config.fish": "set -g MINE mine\nset -g fish_greeting\n" +
				"function fish_prompt; echo -n 'ready> '; end\nfunction fish_right_prompt; end\n",
			// Without this directory fish fills it in the background, and outlives the test.
			"data/fish/generated_completions/none.fish": "",
		},
		env: map[string]string{"XDG_CONFIG_HOME": "~/.config", "XDG_DATA_HOME": "~/data"},
		run: []ran{
			{"sh -c 'exit 5'", "", 5},
			{`echo "$MINE st=$status; a;b"`, "", 0},
			{`printf '\e]633;E;forged\a\e]633;C\a\e]133;D;0\a'`, "", 0},
			{`mkdir "a b"; and cd "a b"`, "", 0},
			{"false", "", 1},
		},
		says: "mine st=5; a;b", keeps: "data/fish/fish_history",
	},
	"bash that ignores duplicates and spaces": {
		shell: "bash",
		files: map[string]string{".bashrc": "PS1='ready> '\nHISTCONTROL=ignoreboth:erasedups\nHISTFILE=~/history\nPROMPT_COMMAND='true;'\n"},
		run: []ran{
			{"echo one | cat", "", 0},
			{"echo one | cat", "", 0},
			{" echo secret", "echo secret", 0},
			{"false", "", 1},
			{"false", "", 1},
			{" (exit 6)", "", 6}, // not a command of this shell itself: its text is not reported
			{"echo two; echo u=$_", "", 0},
			{"echo one | cat", "", 0},
		},
		says: "u=two",
	},
	"bash with a trap of one's own": {
		shell: "bash",
		files: map[string]string{".bashrc": "PS1='ready> '\nHISTCONTROL=ignorespace\nHISTFILE=~/history\ntrap " +
			"'N=$((N+1))' DEBUG\n"},
		run:  []ran{{"echo one", "", 0}, {" echo two", "", 0}, {"trap -p DEBUG", "", 0}},
		says: "N=$((N+1))",
	},
}

// TestShellIntegration runs real shells (AHP requirements 163, 168).
func TestShellIntegration(t *testing.T) {
	for name, tc := range shellCases {
		t.Run(name, func(t *testing.T) {
			path, err := exec.LookPath(tc.shell)
			if err != nil {
				t.Skipf("no %s here", tc.shell)
			}
			home := t.TempDir()
			for file, text := range tc.files {
				file = filepath.Join(home, file)
				if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
					t.Fatal(err)
				}
				write(t, file, text)
			}
			t.Setenv("SHELL", path)
			t.Setenv("HOME", home)
			t.Setenv("TMPDIR", t.TempDir())
			for k, v := range tc.env {
				t.Setenv(k, strings.Replace(v, "~", home, 1))
			}
			tc.try(t, home)
		})
	}
}

func (tc shellCase) try(t *testing.T, home string) {
	s := newScreen()
	p := start(t, Spec{Dir: home}, s)
	for i, r := range tc.run {
		s.wait(t, "a prompt", func() bool { return strings.Count(s.text(), "ready> ") > i })
		if err := p.Write([]byte(r.typed + "\r")); err != nil {
			t.Fatal(err)
		}
		s.wait(t, "the end of "+r.typed, func() bool {
			return len(commandsOf(s.all())) > i &&
				commandsOf(s.all())[i].end != nil
		})
		c := commandsOf(s.all())[i]
		want := r.told
		if want == "" && !strings.HasPrefix(r.typed, " ") {
			want = r.typed
		}
		if c.line != want || c.end.ExitCode == nil || *c.end.ExitCode != r.code {
			t.Errorf("typed %q; told %q, which ended with %s", r.typed, c.line, lines([]ahp.Action{c.end}))
		}
	}
	if err := p.Write([]byte("exit\r")); err != nil {
		t.Fatal(err)
	}
	finish(t, p)
	if got := s.text(); !strings.Contains(got, tc.says) || strings.Contains(got, "\x1b]633") ||
		strings.Contains(got, "\x1b]133") {
		t.Errorf("the screen is %q", got)
	}
	if !strings.Contains(lines(s.all()), "commandDetectionAvailable") {
		t.Error("command detection was not announced")
	}
	if tc.keeps != "" {
		history, err := os.ReadFile(filepath.Join(home, tc.keeps))
		if err != nil || strings.Contains(string(history), "ahphub") || !strings.Contains(string(history),
			tc.run[0].typed) {
			t.Errorf("history: %v\n%s", err, history)
		}
	}
	if left, _ := filepath.Glob(filepath.Join(os.TempDir(), "ahphub*")); len(left) > 0 {
		t.Errorf("%s stays behind", left)
	}
}

// told is a command as reported to clients.
type told struct {
	line string
	end  *ahp.TerminalCommandFinishedAction
}

func commandsOf(actions []ahp.Action) (out []told) {
	for _, a := range actions {
		switch a := a.(type) {
		case *ahp.TerminalCommandExecutedAction:
			out = append(out, told{line: a.CommandLine})
		case *ahp.TerminalCommandFinishedAction:
			out[len(out)-1].end = a
		}
	}
	return out
}
