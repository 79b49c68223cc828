// Package release records which release of the protocol added or removed each action, command,
// notification and field. The table is releases.txt, written by hand, each row with its source.
// Package dialect derives from it what an older connection is not sent and what of its messages is
// ignored; tests compare it with the published schemas.
package release

import (
	"cmp"
	_ "embed"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// First is the oldest release of the table: it has everything without a row.
const First = "0.4.0"

// Kind is what a row is about.
type Kind string

// The kinds of row.
const (
	Action       Kind = "action"
	Command      Kind = "command"
	Notification Kind = "notification"
	Type         Kind = "type"
	Field        Kind = "field"
	Variant      Kind = "variant"
	Value        Kind = "value"
)

// Row records that a release added or removed something.
type Row struct {
	Kind    Kind
	Of      string // the type of a field, variant or value
	Name    string
	Release string
	Gone    bool
	Source  string
}

//go:embed releases.txt
var text string

var (
	rows  = mustRead(text)
	came  = index(false)
	went  = index(true)
	known = []Kind{Action, Command, Notification, Type, Field, Variant, Value}
)

// Rows returns the table, in its order.
func Rows() []Row { return slices.Clone(rows) }

// read parses a table; the first lines of releases.txt describe the format.
func read(text string) (out []Row, err error) {
	release, source := "", ""
	for n, line := range strings.Split(text, "\n") {
		words := strings.Fields(line)
		switch {
		case len(words) == 0 || line[0] == '#':
			continue
		case words[0] == "@" && len(words) == 3:
			if release != "" && Compare(words[1], release) < 0 {
				return nil, fmt.Errorf("line %d: %s comes before %s", n+1, words[1], release)
			}
			release, source = words[1], words[2]
			continue
		}
		row := Row{Release: release, Source: source, Gone: words[0] == "gone"}
		if row.Gone {
			words = words[1:]
		}
		row.Kind, words = Kind(words[0]), words[1:]
		if row.Kind == Field || row.Kind == Variant || row.Kind == Value {
			if len(words) > 0 {
				row.Of, words = words[0], words[1:]
			}
		}
		if release == "" || len(words) == 0 || !slices.Contains(known, row.Kind) {
			return nil, fmt.Errorf("line %d: %q is no row", n+1, line)
		}
		for _, row.Name = range words {
			out = append(out, row)
		}
	}
	return out, nil
}

func mustRead(text string) []Row {
	rows, err := read(text)
	if err != nil {
		panic("releases.txt: " + err.Error())
	}
	return rows
}

type key struct {
	kind     Kind
	of, name string
}

func index(gone bool) map[key]string {
	m := map[key]string{}
	for _, r := range rows {
		if r.Gone == gone {
			m[key{r.Kind, r.Of, r.Name}] = r.Release
		}
	}
	return m
}

// Since returns the release that added something, or First if it has no row.
func Since(kind Kind, of, name string) string {
	return cmp.Or(came[key{kind, of, name}], First)
}

// Until returns the release that removed something, or "" if every later one has it.
func Until(kind Kind, of, name string) string { return went[key{kind, of, name}] }

// In reports whether a version has something.
func In(version string, kind Kind, of, name string) bool {
	until := Until(kind, of, name)
	return Compare(Since(kind, of, name), version) <= 0 && (until == "" || Compare(version, until) < 0)
}

// Compare compares versions, MAJOR.MINOR.PATCH: it returns -1 if a is before b, 0 if they are
// equal, and 1 otherwise.
func Compare(a, b string) int { return slices.Compare(numbers(a), numbers(b)) }

func numbers(v string) []int {
	out := make([]int, 3)
	for i, part := range strings.SplitN(v, ".", 3) {
		out[i], _ = strconv.Atoi(part) // versions are validated earlier
	}
	return out
}
