package acp

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/ahphub/ahphub/hub/environ"
)

const (
	nodeTime    = 5 * time.Second // limit for node --version
	mostPackage = 1 << 20         // bytes of a package.json
	mostLevels  = 6               // directories from a script up to its package.json
)

var (
	nodeScript = regexp.MustCompile(`^#!.*\bnode\b`)
	least      = regexp.MustCompile(`^\s*(?:>=|\^|~)?\s*v?(\d{1,4})`)
)

// nodeAdvice names the Node that a program needs, if it is a script for Node, and Node is missing
// or too old; "" otherwise. The requirement is that of the program's package.
func (p Program) nodeAdvice(ctx context.Context) string {
	path, err := p.Path()
	if err != nil {
		return ""
	}
	if path, err = filepath.EvalSymlinks(path); err != nil || !isNodeScript(path) {
		return ""
	}
	wanted := wantedNode(filepath.Dir(path))
	need := "Node"
	if wanted != "" {
		need += " " + wanted
	}
	node, err := exec.LookPath("node")
	if err != nil {
		return " It needs " + need + ", and node was not found: install it, then try again."
	}
	have := nodeVersion(ctx, node)
	least, has := leadingNumber(wanted), leadingNumber(have)
	if least == 0 || has == 0 || has >= least {
		return ""
	}
	return " It needs " + need + ", and " + node + " is " + have + ": install a newer one, then try again."
}

func isNodeScript(path string) bool {
	f, err := os.Open(path)
	if err != nil {
		return false
	}
	defer f.Close()
	begin := make([]byte, 256)
	n, _ := f.Read(begin) // on an error, there is no such line
	line, _, _ := strings.Cut(string(begin[:n]), "\n")
	return nodeScript.MatchString(line)
}

// wantedNode returns the Node requirement of a directory's package, such as ">=20"; "" if it has no
// simple one.
func wantedNode(dir string) string {
	for range mostLevels {
		path := filepath.Join(dir, "package.json")
		info, err := os.Stat(path)
		switch {
		case errors.Is(err, os.ErrNotExist):
			dir = filepath.Dir(dir)
			continue
		case err != nil || !info.Mode().IsRegular() || info.Size() > mostPackage:
			return ""
		}
		var about struct{ Engines struct{ Node string } }
		raw, err := os.ReadFile(path)
		if err != nil || json.Unmarshal(raw, &about) != nil || leadingNumber(about.Engines.Node) == 0 || len(about.Engines.Node) > 40 {
			return ""
		}
		return about.Engines.Node
	}
	return ""
}

func nodeVersion(ctx context.Context, node string) string {
	ctx, cancel := context.WithTimeout(ctx, nodeTime)
	defer cancel()
	cmd := exec.CommandContext(ctx, node, "--version")
	cmd.Env = environ.Inherit(nil)
	out, err := cmd.Output()
	if err != nil || len(out) > 40 {
		return ""
	}
	return strings.TrimSpace(string(out))
}

// leadingNumber returns the major version of a version, or of a simple range's minimum; 0 for
// anything else.
func leadingNumber(text string) int {
	m := least.FindStringSubmatch(text)
	if m == nil {
		return 0
	}
	n, _ := strconv.Atoi(m[1]) // at most four digits
	return n
}
