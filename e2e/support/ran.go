package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"path"
	"regexp"
	"slices"
	"strings"
)

// module is the prefix of the packages' import paths.
const module = "github.com/ahphub/ahphub/"

// event is a line of go test -json.
type event struct {
	Action  string
	Package string
	Test    string
	Output  string
}

// results are the results of a go test run by directory and name of the test: "pass", "fail" or
// "skip".
type results map[string]map[string]string

// lateMark prefixes a passed test's output about an exceeded time limit: the machine may be slow,
// so it is only shown.
const lateMark = "LATE: "

// follow reads a run of go test -json and prints it as go test would without the flag: a line per
// package, and the output of failed and late tests. At the end it repeats why tests failed, in case
// other output scrolled it away. ok reports whether everything passed.
func follow(in io.Reader, out io.Writer) (ran results, ok bool, err error) {
	ran, ok = results{}, true
	var failed []string
	printed := map[string][]string{} // by package and test, until its result is known
	lines := bufio.NewReader(in)
	for {
		line, err := lines.ReadString('\n')
		if err == io.EOF {
			for _, s := range failed {
				fmt.Fprint(out, s)
			}
			return ran, ok && len(ran) > 0, nil
		} else if err != nil {
			return nil, false, err
		}
		var e event
		if json.Unmarshal([]byte(line), &e) != nil || e.Action == "" {
			fmt.Fprint(out, line) // from the go command itself
			continue
		}
		of := e.Package + " " + e.Test
		switch e.Action {
		case "output":
			printed[of] = append(printed[of], e.Output)
		case "build-output":
			fmt.Fprint(out, e.Output)
		case "fail", "build-fail":
			ok = false
			for _, s := range printed[of] {
				fmt.Fprint(out, s)
			}
			if reasons := reasons(printed[of]); e.Test != "" && len(reasons) > 0 {
				failed = append(failed, fmt.Sprintf("FAILED: %s %s\n", e.Package, e.Test))
				failed = append(failed, reasons...)
			}
			delete(printed, of)
			if e.Test == "" {
				printUnfinished(printed, e.Package, out)
			}
		case "pass", "skip":
			if e.Test == "" {
				fmt.Fprint(out, verdict(printed[of]))
			}
			for _, s := range printed[of] {
				if _, said, late := strings.Cut(s, ": "+lateMark); late {
					fmt.Fprint(out, lateMark, e.Test, ": ", said)
				}
			}
			delete(printed, of)
		}
		if e.Action == "pass" || e.Action == "fail" || e.Action == "skip" {
			ran.note(e)
		}
	}
}

// said matches the prefix of output by t.Error, t.Fatal or t.Log.
var said = regexp.MustCompile(`^ +[\w-]+\.go:\d+: `)

// reasons returns the lines of a test's output, each message truncated to its first lines.
func reasons(lines []string) (out []string) {
	const most = 6
	n := most
	for _, s := range lines {
		if said.MatchString(s) {
			n = 0
		}
		if n < most && !strings.HasPrefix(strings.TrimSpace(s), "--- ") {
			out = append(out, s)
		}
		n++
	}
	return out
}

// printUnfinished prints the output of a failed package's tests without a result. One of them
// reports a timeout or a goroutine's panic.
func printUnfinished(printed map[string][]string, pkg string, out io.Writer) {
	for _, of := range slices.Sorted(maps.Keys(printed)) {
		if !strings.HasPrefix(of, pkg+" ") {
			continue
		}
		for _, s := range printed[of] {
			if !strings.HasPrefix(s, "=== ") {
				fmt.Fprint(out, s)
			}
		}
		delete(printed, of)
	}
}

// verdict returns the last line of a package: ok, or that there are no tests.
func verdict(lines []string) string {
	for _, l := range slices.Backward(lines) {
		if strings.HasPrefix(l, "ok ") || strings.HasPrefix(l, "?") {
			return l
		}
	}
	return ""
}

func (r results) note(e event) {
	dir := strings.TrimPrefix(e.Package, module)
	if r[dir] == nil {
		r[dir] = map[string]string{}
	}
	r[dir][e.Test] = e.Action
}

// outcome returns the result of a citation: of a test, of a transcript, or of the whole package for
// a citation in a helper.
func (r results) outcome(cite string) string {
	if dir, test, ok := strings.Cut(cite, " "); ok {
		return r[dir][test]
	}
	dir := path.Dir(cite)
	base, transcript := strings.CutSuffix(path.Base(cite), ".txtar")
	if !transcript {
		return r[dir][""]
	}
	dir, _, _ = strings.Cut(dir, "/testdata")
	best := ""
	for name, what := range r[dir] {
		if parts := strings.Split(name, "/"); len(parts) == 3 && parts[1] == base && best != "fail" {
			best = what
		}
	}
	return best
}

// unmet lists the requirements without a test that ran and passed.
func unmet(list []requirement, found map[int][]string, ran results) (out []string) {
	for _, r := range list {
		cites := found[r.number]
		if len(cites) == 0 {
			continue
		}
		if !slices.ContainsFunc(cites, func(c string) bool { return ran.outcome(c) == "pass" }) {
			out = append(out, fmt.Sprintf("%d: %s (%s)", r.number, r.sentence, strings.Join(cites, ", ")))
		}
	}
	return out
}
