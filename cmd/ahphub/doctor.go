package main

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/ahphub/ahphub/hub/agent/acp"
	"github.com/ahphub/ahphub/hub/environ"
	"github.com/ahphub/ahphub/hub/store"
)

type doctorCommand struct {
	Config `embed:""`

	Deep bool `help:"Check every row of the database against its checksum as well. It may take minutes."`
}

// finding is one line of the report. A bad one includes the remedy.
type finding struct {
	good bool
	hard bool // the server cannot run
	text string
}

var errUnwell = errors.New("ahphub cannot serve yet. Fix the points above")

// Run checks everything and changes nothing.
func (c doctorCommand) Run(e *environment) error {
	var all []finding
	set, err := c.check()
	if err != nil {
		all = append(all, finding{hard: true, text: strings.ReplaceAll(err.Error(), "\n", "\n      ")})
	}
	all = append(all, checkGit(e.ctx), checkShell())
	all = append(all, checkAgents(e.ctx, programs(c.configured, c.pass), c.limits)...)
	all = append(all, checkSandbox(c.Sandbox)...)
	all = append(all, checkData(c.Data), checkPort(e.ctx, c.Listen, c.Data))
	if _, serving := findServer(e.ctx, c.Listen, c.Data); serving {
		all = append(all, checkMachines(c.Data)...)
	}
	all = append(all, checkAudit(e.ctx, c.Data)...)
	if c.Deep {
		all = append(all, checkRows(e.ctx, c.Data)...)
	}
	if set.public != nil {
		all = append(all, finding{good: true, text: "teammates use " + set.public.String()})
	}
	return report(e.stdout, all)
}

func report(w io.Writer, all []finding) error {
	var err error
	for _, f := range all {
		mark := "ok"
		switch {
		case f.hard:
			mark, err = "FAIL", errUnwell
		case !f.good:
			mark = "note"
		}
		fmt.Fprintf(w, "%-5s %s\n", mark, f.text)
	}
	return err
}

func checkGit(ctx context.Context) finding {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	cmd := exec.CommandContext(ctx, "git", "--version")
	cmd.Env = environ.Inherit(nil)
	out, err := cmd.Output()
	if err != nil {
		return finding{hard: true, text: "git was not found: install it (apt-get install git, brew install git)"}
	}
	return judgeGit(strings.TrimSpace(string(out)))
}

// judgeGit checks a version of git, as printed by git: 2.36 has "git hook run".
func judgeGit(printed string) finding {
	var major, minor int
	_, err := fmt.Sscanf(printed, "git version %d.%d", &major, &minor)
	if err == nil && (major < 2 || major == 2 && minor < 36) {
		return finding{text: printed + " is too old to make worktrees for sessions in a sandbox: install git 2.36 or newer"}
	}
	return finding{good: true, text: printed}
}

func checkShell() finding {
	shell := os.Getenv("SHELL")
	if shell == "" {
		shell = "/bin/sh"
	}
	path, err := exec.LookPath(shell)
	if err != nil {
		return finding{hard: true, text: fmt.Sprintf("the shell %s was not found. Set SHELL to an installed shell",
			shell)}
	}
	return finding{good: true, text: "shell " + path}
}

const (
	probeTime = 20 * time.Second // timeout for an agent to create a session
	probeMany = 2                // agents checked concurrently: some need seconds and much memory
)

// checkAgents starts each program that sessions can use in an empty directory, until it has created
// a session.
func checkAgents(ctx context.Context, found map[string]acp.Program, limits acp.Limits) []finding {
	names := slices.Sorted(maps.Keys(found))
	all := make([]finding, len(names))
	var wg sync.WaitGroup
	slots := make(chan struct{}, probeMany)
	for i, name := range names {
		wg.Go(func() {
			slots <- struct{}{}
			defer func() { <-slots }()
			all[i] = checkAgent(ctx, found[name], limits)
		})
	}
	wg.Wait()
	if len(all) == 0 {
		all = append(all, finding{text: "no agent program was found (" + strings.Join(acp.Names(), ", ") +
			"); the shell agent needs none"})
	}
	if why := limits.Unbounded(); why != "" {
		all = append(all, finding{text: why})
	}
	return all
}

func checkAgent(ctx context.Context, p acp.Program, limits acp.Limits) finding {
	path, err := p.Path()
	if err != nil {
		return finding{text: fmt.Sprintf("agent %s: %v. Install it, or change its command in the configuration file",
			p.Name, err)}
	}
	command := strings.TrimSpace(fmt.Sprintf("agent %s: %s %s", p.Name, path, strings.Join(p.Args, " ")))
	limits.Start = probeTime
	seen, err := acp.Probe(ctx, p, limits)
	switch {
	case err != nil:
		return finding{text: command + "\n      " + err.Error()}
	case seen.Login != "":
		return finding{text: fmt.Sprintf("%s (%s)\n      %s", command, seen.Version, seen.Login)}
	}
	text := fmt.Sprintf("%s (%s", command, seen.Version)
	if seen.Models > 0 {
		text += fmt.Sprintf(", %d models", seen.Models)
	}
	return finding{good: true, text: text + ")"}
}

// checkData checks that the data directory, or the directory to create it in, is writable.
func checkData(dir string) finding {
	info, err := os.Stat(dir)
	if errors.Is(err, os.ErrNotExist) {
		parent := dir
		for errors.Is(err, os.ErrNotExist) && filepath.Dir(parent) != parent {
			parent = filepath.Dir(parent)
			_, err = os.Stat(parent)
		}
		if !writable(parent) {
			return finding{hard: true, text: fmt.Sprintf(
				"the data directory %s cannot be created: %s is not writable. Choose another with --data", dir, parent)}
		}
		return finding{good: true, text: fmt.Sprintf("data directory %s (will be created)", dir)}
	}
	if err != nil || !info.IsDir() || !writable(dir) {
		return finding{hard: true, text: fmt.Sprintf(
			"the data directory %s is not writable: change its owner, or choose another with --data", dir)}
	}
	if err := store.Inspect(dir); err != nil {
		return finding{hard: true, text: err.Error()}
	}
	return finding{good: true, text: "data directory " + dir}
}

// checkAudit verifies the audit's chain of hashes.
func checkAudit(ctx context.Context, dir string) []finding {
	entries, err := store.CheckAudit(ctx, dir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil // none exists yet
	case err != nil:
		return []finding{{hard: errors.Is(err, store.ErrDamaged), text: "audit: " + err.Error()}}
	}
	return []finding{{good: true, text: fmt.Sprintf("audit: the hashes of %d entries match", entries)}}
}

// checkRows checks the whole database, also while an ahphub serves it.
func checkRows(ctx context.Context, dir string) []finding {
	deep, err := store.DeepCheck(ctx, dir)
	if errors.Is(err, fs.ErrNotExist) {
		return []finding{{good: true, text: "no database yet in " + dir}}
	}
	var all []finding
	if err != nil {
		all = append(all, finding{hard: errors.Is(err, store.ErrDamaged),
			text: "the database was not checked: " + err.Error()})
	}
	if deep == nil {
		return all
	}
	for _, d := range deep.Damage {
		all = append(all, finding{hard: true, text: d.Error()})
	}
	if deep.More > 0 {
		all = append(all, finding{hard: true, text: fmt.Sprintf("%d more rows are damaged", deep.More)})
	}
	if len(all) > 0 {
		return all
	}
	text := fmt.Sprintf("database: %d channels and %d journal rows are whole", deep.Channels, deep.Rows)
	if deep.Unchecked > 0 {
		text += fmt.Sprintf("; %d were written before there were checksums", deep.Unchecked)
	}
	return []finding{{good: true, text: text}}
}

func writable(dir string) bool {
	f, err := os.CreateTemp(dir, ".ahphub-doctor-*")
	if err != nil {
		return false
	}
	return errors.Join(f.Close(), os.Remove(f.Name())) == nil
}

// checkPort reports whether a port is free, or used by an ahphub or another program.
func checkPort(ctx context.Context, address, data string) finding {
	l, err := net.Listen("tcp", address)
	if err == nil {
		l.Close()
		return finding{good: true, text: "address " + address + " is free"}
	}
	if at, serving := findServer(ctx, address, data); serving {
		return finding{good: true, text: "an ahphub is serving at " + at.URL + "; ahphub link prints a sign-in address"}
	}
	return finding{hard: true, text: fmt.Sprintf("the address %s cannot be taken (%v): choose another with --listen",
		address, err)}
}

// findServer returns the addresses of the ahphub that serves a data directory; false if none
// answers.
func findServer(ctx context.Context, address, data string) (addresses, bool) {
	at, err := readAddresses(data)
	return at, err == nil && (answers(ctx, at.URL) || answers(ctx, "https://"+address))
}

func answers(ctx context.Context, url string) bool {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Second)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url+"/healthz", nil)
	if err != nil {
		return false
	}
	// No secret is sent, and the certificate may be for the public name instead of the local
	// address.
	client := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true},
		DisableKeepAlives: true}}
	res, err := client.Do(req)
	if err != nil {
		return false
	}
	defer res.Body.Close()
	body, err := io.ReadAll(io.LimitReader(res.Body, 16))
	return err == nil && string(body) == "ok\n"
}
