package host

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/ahphub/ahphub/hub"
	"github.com/ahphub/ahphub/hub/ahp"
	"github.com/ahphub/ahphub/hub/host/changes"
)

// heardOn subscribes to a changeset and returns a function that reads actions until the last one.
func (c *changing) heardOn(uri ahp.URI) func(last func(ahp.Action) bool) []ahp.Action {
	c.t.Helper()
	conn, err := c.hub.Connect(hub.ConnConfig{Principal: owner.ID, ClientID: "ana-2", Audience: owner.Audience()})
	c.must(err)
	c.t.Cleanup(func() { conn.Close(errors.New("the test is over")) })
	conn.Subscribe(nil, hub.Subscription{URI: uri})
	return func(last func(ahp.Action) bool) (heard []ahp.Action) {
		c.t.Helper()
		for {
			items, err := conn.Next(c.t.Context(), nil)
			c.must(err)
			over := false
			for _, it := range items {
				if it.Env != nil && it.Env.Channel.URI == uri {
					heard = append(heard, it.Env.Action)
					over = over || last(it.Env.Action)
				}
			}
			if over {
				return heard
			}
		}
	}
}

// An operation reports that it runs, and then its result. An invalid target is an error.
func TestOperationTellsThatItRunsAndHowItEnded(t *testing.T) { // AHP requirements 155 and 156
	c := newChanging(t)
	c.write("a.txt", "one\n2\nthree\n")
	uri := c.follow("uncommitted", "")
	c.identity()
	if _, err := c.invoke(uri, "commit", c.file("a.txt"), "message", "x"); code(err) != ahp.CodeInvalidParams {
		t.Errorf("a commit of one file, which is offered for the whole: %v", err)
	}
	c.does("Staged a.txt", uri, "stage", c.file("a.txt"))
	heard := c.heardOn(uri)
	statuses := func() (said []string) {
		t.Helper()
		isLast := func(a ahp.Action) bool {
			s, ok := a.(*ahp.ChangesetOperationStatusChangedAction)
			return ok && s.OperationID == "commit" && s.Status != ahp.ChangesetOperationStatusRunning
		}
		for _, a := range heard(isLast) {
			if s, ok := a.(*ahp.ChangesetOperationStatusChangedAction); ok && s.OperationID == "commit" {
				said = append(said, fmt.Sprintf("%s %t", s.Status, s.Error != nil))
			}
		}
		return said
	}
	c.does("Committed ", uri, "commit", nil, "message", "Count")
	if got := statuses(); !slices.Equal(got, []string{"running false", "idle false"}) {
		t.Errorf("a commit told %q", got)
	}
	c.must(os.WriteFile(filepath.Join(c.dir, ".git/hooks/pre-commit"), []byte("#!/bin/sh\nexit 1\n"), 0o700))
	c.write("a.txt", "one\n")
	c.shows(uri, "M a.txt +0 −2")
	if _, err := c.invoke(uri, "commit", nil, "message", "x"); err == nil {
		t.Error("a hook that refuses is passed over")
	}
	if got := statuses(); !slices.Equal(got, []string{"running false", "error true"}) {
		t.Errorf("a refused commit told %q", got)
	}
}

// The first content and many changes at once are sent in one action (AHP requirement 154). Every
// listed changeset can be reviewed (AHP requirement 158).
func TestBulkChangesComeWhole(t *testing.T) {
	c := newChanging(t)
	c.write("first.txt", "x\n")
	uri := changes.URI(session, "uncommitted", "")
	_, err := c.host.Changes.Open(t.Context(), c.owner, uri)
	c.must(err)
	heard := c.heardOn(uri)
	whole := func(what string, want int) {
		t.Helper()
		isContent := func(a ahp.Action) bool {
			switch a.(type) {
			case *ahp.ChangesetContentChangedAction, *ahp.ChangesetFileSetAction:
				return true
			}
			return false
		}
		for _, a := range heard(isContent) {
			if content, ok := a.(*ahp.ChangesetContentChangedAction); isContent(a) && (!ok || len(content.Files) != want) {
				t.Errorf("%s: %T, want one with %d files", what, a, want)
			}
		}
	}
	c.follow("uncommitted", "")
	whole("the first content", 1)
	outside := filepath.Join(t.TempDir(), "many")
	c.must(os.MkdirAll(outside, 0o755))
	for i := range 150 {
		c.must(os.WriteFile(filepath.Join(outside, fmt.Sprintf("new-%d.txt", i)), []byte("x\n"), 0o600))
	}
	c.must(os.Rename(outside, filepath.Join(c.dir, "many"))) // all at once
	whole("150 files at once", 151)
	for _, offered := range c.session().Changesets {
		if offered.Capabilities == nil || offered.Capabilities.Review == nil {
			t.Errorf("%s is reviewed by the host, and does not say so", offered.URITemplate)
		}
	}
}
