package main

import (
	_ "embed"
	"fmt"
	"strconv"
	"strings"
)

//go:embed requirements.txt
var listed string

// requirement is a rule for a host.
type requirement struct {
	number   int
	level    string // must, should, may; with a star if stated as a fact
	source   string // the document that contains it
	sentence string
	reason   string // why there is no test: "not offered: …" or "superseded: …"; "" with a test
}

func (r requirement) must() bool { return strings.HasPrefix(r.level, "must") }

// parse reads requirements.txt.
func parse(text string) (out []requirement, err error) {
	for n, line := range strings.Split(text, "\n") {
		switch {
		case line == "" || line[0] == '#':
		case line[0] == ' ':
			if err = reason(out, strings.TrimSpace(line)); err != nil {
				return nil, fmt.Errorf("line %d: %w", n+1, err)
			}
		default:
			r, err := row(line)
			if err != nil || r.number != len(out)+1 {
				return nil, fmt.Errorf("line %d: want number %d, its level, source and sentence: %v", n+1, len(out)+1,
					err)
			}
			out = append(out, r)
		}
	}
	return out, nil
}

func reason(out []requirement, why string) error {
	kind, _, ok := strings.Cut(why, ": ")
	if len(out) == 0 || !ok || kind != "not offered" && kind != "superseded" {
		return fmt.Errorf("a reason is \"not offered: …\" or \"superseded: …\" below its requirement")
	}
	out[len(out)-1].reason = why
	return nil
}

func row(line string) (r requirement, err error) {
	head, sentence, ok := strings.Cut(line, " | ")
	f := strings.SplitN(head, " ", 3)
	if !ok || len(f) != 3 {
		return r, fmt.Errorf("%q", line)
	}
	r = requirement{level: f[1], source: f[2], sentence: sentence}
	r.number, err = strconv.Atoi(f[0])
	return r, err
}
