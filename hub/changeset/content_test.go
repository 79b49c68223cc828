package changeset

import (
	"strings"
	"testing"
)

// TestContentsReadsManyVersionsAtOnce reads versions of every kind, and invalid ones.
func TestContentsReadsManyVersionsAtOnce(t *testing.T) {
	p := newRepo(t)
	texts := map[string]string{"text.txt": "a\nb\n", "empty.txt": "", "open.txt": "no newline",
		"bytes.bin": "\x00\n\n\xff", "like.txt": strings.Repeat("0", 40) + " blob 5\nabc\n"}
	for name, text := range texts {
		p.write(name, text)
	}
	tree := p.checkpoint().Trees[0].OID
	oids, want := []string{strings.Repeat("ab", 20), tree, "HEAD", "--help", ""}, map[string]string{}
	for name, text := range texts {
		oid := p.git("hash-object", name)
		oids, want[oid] = append(oids, oid), text
	}
	got := p.svc.Contents(t.Context(), session, oids)
	if len(got) != len(want) {
		t.Errorf("%d versions came, want %d", len(got), len(want))
	}
	for oid, text := range want {
		if data, ok := got[oid]; !ok || string(data) != text {
			t.Errorf("%s: got %q, want %q", oid, data, text)
		}
	}
}
