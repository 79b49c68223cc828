package terminal

import (
	"crypto/rand"
	_ "embed"
	"os"
	"path/filepath"
	"strings"
)

// bashInit is what an interactive bash reads in place of ~/.bashrc, which it
// reads first thing itself.
//
//go:embed integration.bash
var bashInit string

// plan is a command line with the script its shell is to read.
type plan struct {
	argv   []string
	script string // fed to descriptor 3; "" for none
	detect detection
	nonce  string
}

// plan decides what to start. Shell integration goes through a pipe that the
// shell reads at its start: nothing of the person's is written to, and the nonce
// is in no file, no argument and no environment.
func (s Spec) plan() plan {
	if len(s.Command) > 0 {
		return plan{argv: s.Command}
	}
	sh := Shell()
	if filepath.Base(sh) != "bash" {
		return plan{argv: []string{sh}, detect: detectAny}
	}
	nonce := rand.Text()
	return plan{
		argv:   []string{sh, "--init-file", "/dev/fd/3", "-i"},
		script: strings.ReplaceAll(bashInit, "@NONCE@", nonce),
		detect: detectNonce,
		nonce:  nonce,
	}
}

// feed returns a pipe that holds the script. It is far smaller than a pipe's buffer.
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
