package terminal

import (
	"crypto/rand"
	_ "embed"
	"os"
	"path/filepath"
	"strings"
)

// The scripts of shell integration. Each reads the user's own files, or lets the shell do so, and
// writes to none of them. bash reads its script in place of ~/.bashrc, fish and PowerShell after
// their configuration; zsh reads it as the .zshenv of a temporary directory.
var (
	//go:embed integration.bash
	bashInit string
	//go:embed integration.zsh
	zshInit string
	//go:embed integration.fish
	fishInit string
	//go:embed integration.ps1
	pwshInit string
)

// plan is a command line with its shell's script.
type plan struct {
	argv   []string
	env    []string
	script string // passed on descriptor 3; "" for none
	dir    string // temporary directory, removed at the end; "" for none
	detect detection
	nonce  string
}

// planFor decides what to start. The nonce of shell integration is passed through a pipe that the
// shell reads at its start: it is in no file, argument or environment variable.
func planFor(s Spec) (plan, error) {
	if len(s.Command) > 0 {
		return plan{argv: s.Command}, nil
	}
	sh := shellFor(s)
	p := plan{argv: []string{sh}, detect: detectNonce, nonce: rand.Text()}
	var err error
	switch filepath.Base(sh) {
	case "bash":
		p.argv = append(p.argv, "--init-file", "/dev/fd/3", "-i")
		p.script = strings.ReplaceAll(bashInit, "@NONCE@", p.nonce)
	case "zsh":
		p.argv, p.script = append(p.argv, "-i"), p.nonce+"\n"
		p.env, p.dir, err = zshDir()
	case "fish":
		p.argv = append(p.argv, "--init-command", "source </dev/fd/3")
		p.script = strings.ReplaceAll(fishInit, "@NONCE@", p.nonce)
	case "pwsh":
		p.argv, p.script = append(p.argv, "-NoLogo", "-NoExit", "-Command", pwshInit), p.nonce+"\n"
	default:
		return plan{argv: p.argv, detect: detectAny}, nil
	}
	return p, err
}

// zshDir creates the directory where zsh looks first, and passes it the user's own.
func zshDir() (env []string, dir string, err error) {
	if dir, err = os.MkdirTemp("", "ahphub-zsh-"); err != nil {
		return nil, "", err
	}
	if err := os.WriteFile(filepath.Join(dir, ".zshenv"), []byte(zshInit), 0o600); err != nil {
		_ = os.RemoveAll(dir)
		return nil, "", err
	}
	if own, set := os.LookupEnv("ZDOTDIR"); set {
		env = append(env, "__AHPHUB_ZDOTDIR="+own)
	}
	return append(env, "ZDOTDIR="+dir), dir, nil
}

// done removes the temporary directory.
func (p plan) done() {
	if p.dir != "" {
		_ = os.RemoveAll(p.dir)
	}
}

// feed returns a pipe that contains the script, which is far smaller than a pipe's buffer.
func feed(script string) (*os.File, error) {
	r, w, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	defer w.Close()
	if _, err := w.WriteString(script); err != nil {
		r.Close()
		return nil, err
	}
	return r, nil
}
