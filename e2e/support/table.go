package main

import (
	"fmt"
	"strings"
)

const intro = `# What is supported of the protocol

Every requirement of the Agent Host Protocol on a host, in our words, with the document it stands in and the tests that cite it. A star
marks what the specification states as a fact without its word for it. This page is written by ` + "`go run ./e2e/support`" + ` from the
citations in the tests and ` + "`e2e/support/requirements.txt`" + `; a test fails when it is not current, and ` +
	"`make test`" + ` when of the tests
named for a requirement none ran and passed.

`

// build generates the page for the repository at root.
func build(root string) (string, error) {
	list, err := parse(listed)
	if err != nil {
		return "", err
	}
	found, err := cites(root)
	if err != nil {
		return "", err
	}
	for n := range found {
		if n < 1 || n > len(list) {
			return "", fmt.Errorf("%s cites requirement %d: there are %d", found[n][0], n, len(list))
		}
	}
	return intro + totals(list, found) + table(list, found), nil
}

// tally counts requirements by status.
type tally struct{ all, tested, open, offered int }

func count(list []requirement, found map[int][]string, in func(requirement) bool) (t tally) {
	for _, r := range list {
		if !in(r) {
			continue
		}
		t.all++
		switch {
		case len(found[r.number]) > 0:
			t.tested++
		case r.reason == "":
			t.open++
		}
	}
	t.offered = t.tested + t.open
	return t
}

func (t tally) line(name string) string {
	return fmt.Sprintf("| %s | %d | %d | %d | %d | %d %% |\n", name, t.all, t.tested, t.all-t.offered, t.open,
		100*t.tested/max(1, t.offered))
}

func totals(list []requirement, found map[int][]string) string {
	others := func(r requirement) bool { return !r.must() }
	return "| | all | tested | not offered or superseded | without a test | tested of what is offered " +
		"|\n|---|---|---|---|---|---|\n" +
		count(list, found, requirement.must).line("must") + count(list, found, others).line("should and may") + "\n"
}

func table(list []requirement, found map[int][]string) string {
	var b strings.Builder
	b.WriteString("| No | Level | Requirement | Where it stands | Tested by |\n|---|---|---|---|---|\n")
	for _, r := range list {
		fmt.Fprintf(&b, "| %d | %s | %s | %s | %s |\n", r.number, strings.ReplaceAll(r.level, "*", `\*`), r.sentence,
			r.source, status(r, found[r.number]))
	}
	return b.String()
}

func status(r requirement, tests []string) string {
	switch {
	case len(tests) > 0:
		return strings.Join(tests, "<br>")
	case r.reason != "":
		return r.reason
	}
	return "**no test yet**"
}
