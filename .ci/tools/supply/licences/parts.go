package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/google/licensecheck"
)

const (
	program = "./cmd/ahphub"
	ours    = "github.com/ahphub/ahphub"
)

// systems are those the program is built for; each has libraries of its own.
var systems = []string{"linux", "darwin"}

// goModules are those that packages of the program come from, and Go's own library.
func goModules(root string) ([]part, error) {
	found := map[string]part{}
	for _, system := range systems {
		cmd := exec.Command("go", "list", "-deps", "-json=Module,Standard", program)
		cmd.Dir, cmd.Stderr = root, os.Stderr
		cmd.Env = append(os.Environ(), "GOOS="+system, "GOARCH=amd64", "CGO_ENABLED=0")
		out, err := cmd.Output()
		if err != nil {
			return nil, fmt.Errorf("go list for %s: %w", system, err)
		}
		if err := modulesOf(out, found); err != nil {
			return nil, err
		}
	}
	goRoot, err := exec.Command("go", "env", "GOROOT").Output()
	if err != nil {
		return nil, err
	}
	std, err := examine("Go, its standard library", "", strings.TrimSpace(string(goRoot)))
	if err != nil {
		return nil, err
	}
	parts := []part{std}
	for _, p := range found {
		parts = append(parts, p)
	}
	slices.SortFunc(parts[1:], func(a, b part) int { return strings.Compare(a.Name, b.Name) })
	return parts, nil
}

func modulesOf(listed []byte, found map[string]part) error {
	for dec := json.NewDecoder(bytes.NewReader(listed)); ; {
		var p struct {
			Module *struct{ Path, Version, Dir string }
		}
		err := dec.Decode(&p)
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if p.Module == nil || p.Module.Path == ours || found[p.Module.Path].Name != "" {
			continue
		}
		if found[p.Module.Path], err = examine(p.Module.Path, p.Module.Version, p.Module.Dir); err != nil {
			return err
		}
	}
}

var licenceFile = regexp.MustCompile(`(?i)^(licen[cs]e|copying|notice|patents|unlicense)([-._].*)?$`)

// examine reads the files of a directory that are licences by their name, and tells which they are.
func examine(name, version, dir string) (part, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return part{}, err
	}
	p := part{Name: name, Version: version}
	for _, e := range entries {
		if !e.IsDir() && licenceFile.MatchString(e.Name()) && !strings.HasSuffix(e.Name(), ".go") {
			p.Files = append(p.Files, filepath.Join(dir, e.Name()))
		}
	}
	return p, p.recognise()
}

// grant is a promise not to sue, beside a licence.
const grant = "GooglePatentsFile"

// recognise tells the licences of the files. A file that is none (a notice, a patent grant) says nothing.
func (p *part) recognise() error {
	for _, file := range p.Files {
		text, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		for _, m := range licensecheck.Scan(text).Match {
			if !m.IsURL && m.ID != grant && !slices.Contains(p.Licences, m.ID) {
				p.Licences = append(p.Licences, m.ID)
			}
		}
	}
	if one := chosen[p.Name]; one != "" {
		p.Licences = []string{one}
	}
	slices.Sort(p.Licences)
	return nil
}

// complete tells whether bills of materials together name every module.
func complete(files []string, modules []part) error {
	named := map[string]bool{}
	for _, file := range files {
		b, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		var bill struct {
			Components []struct{ Name, Version string }
		}
		if err := json.Unmarshal(b, &bill); err != nil {
			return fmt.Errorf("%s: %w", file, err)
		}
		for _, c := range bill.Components {
			named[c.Name+" "+c.Version] = true
		}
	}
	for _, m := range modules {
		if m.Version != "" && !named[m.Name+" "+m.Version] {
			return fmt.Errorf("%s %s is in no bill of materials", m.Name, m.Version)
		}
	}
	return nil
}

// npmPackages are those of static/vendor/LOCK, whose licences lie beside them.
func npmPackages(root string) ([]part, error) {
	dir := filepath.Join(root, "static", "vendor")
	lock, err := os.ReadFile(filepath.Join(dir, "LOCK"))
	if err != nil {
		return nil, err
	}
	var parts []part
	for line := range strings.Lines(string(lock)) {
		fields := strings.Fields(line)
		if len(fields) < 3 || strings.HasPrefix(line, "#") {
			continue
		}
		at := strings.LastIndex(fields[0], "@")
		name, version := fields[0][:at], fields[0][at+1:]
		i := slices.IndexFunc(parts, func(p part) bool { return p.Name == name })
		if i < 0 {
			i, parts = len(parts), append(parts, part{Name: name, Version: version})
		}
		if licenceFile.MatchString(filepath.Base(fields[1])) {
			parts[i].Files = append(parts[i].Files, filepath.Join(dir, fields[2]))
		}
	}
	for i := range parts {
		if err := parts[i].recognise(); err != nil {
			return nil, err
		}
	}
	return parts, nil
}
