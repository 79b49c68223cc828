package store

import (
	"bytes"
	"database/sql"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ahphub/ahphub/hub"
	"github.com/ahphub/ahphub/hub/ahp"
)

// damagedDir returns the data directory of a host that wrote a chat and stopped.
func damagedDir(t *testing.T, cfg Config) string {
	t.Helper()
	cfg.Dir = t.TempDir()
	l := start(t, cfg)
	must(t, l.apply(chatURI, delta("a needle in the journal"), delta("and more")))
	must(t, l.h.Do(func(tx *hub.Tx) {
		must(t, tx.Open(hub.ChannelInfo{URI: "ahp-chat:/other", Kind: ahp.ChannelChat, Session: "ahp-session:/1"},
			&ahp.ChatState{Resource: "ahp-chat:/other", Title: "a needle in the snapshot", Turns: []*ahp.Turn{}}))
	}))
	l.settle()
	l.stop()
	return cfg.Dir
}

// flip changes one bit of a text in the database file.
func flip(t *testing.T, dir, text string) {
	t.Helper()
	path := filepath.Join(dir, databaseName)
	raw, err := os.ReadFile(path)
	must(t, err)
	at := bytes.Index(raw, []byte(text))
	if at < 0 || bytes.Count(raw, []byte(text)) != 1 {
		t.Fatalf("%q is %d times in the file", text, bytes.Count(raw, []byte(text)))
	}
	raw[at] ^= 1
	must(t, os.WriteFile(path, raw, 0o600))
}

func execSQL(t *testing.T, dir, query string) {
	t.Helper()
	db, err := sql.Open("sqlite", filepath.Join(dir, databaseName))
	must(t, err)
	_, err = db.Exec(query)
	must(t, err)
	must(t, db.Close())
}

// SQLite's own check misses flipped bits inside values.
func TestFlippedBitsAreFound(t *testing.T) {
	for _, c := range []struct {
		name, text string
		uri        ahp.URI
		says       string
	}{
		{"journal row", "a needle in the journal", chatURI, "journal row "},
		{"snapshot", "a needle in the snapshot", "ahp-chat:/other", "the snapshot of ahp-chat:/other"},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := damagedDir(t, Config{})
			whole, err := DeepCheck(t.Context(), dir)
			must(t, err)
			if len(whole.Damage) != 0 || whole.Rows != 4 || whole.Unchecked != 0 {
				t.Fatalf("a whole database: %+v", whole)
			}
			flip(t, dir, c.text)
			found, err := DeepCheck(t.Context(), dir)
			must(t, err)
			if len(found.Damage) != 1 || !strings.Contains(found.Damage[0].Error(), c.says) ||
				!strings.Contains(found.Damage[0].Error(), c.uri) {
				t.Errorf("the deep check finds %v", found.Damage)
			}
			s := open(t, Config{Dir: dir})
			_, err = s.Load(t.Context(), c.uri)
			var why interface{ Reason() string }
			if !errors.Is(err, ErrDamaged) || !errors.As(err, &why) || !strings.Contains(why.Reason(), c.says) ||
				!strings.Contains(why.Reason(), "restore a backup") {
				t.Errorf("a read says %v", err)
			}
			if s.Err() == nil {
				t.Error("the store is ready all the same")
			}
		})
	}
}

func TestMissingRowsAreFound(t *testing.T) {
	for name, query := range map[string]string{
		"a journal row": "DELETE FROM envelopes WHERE seq=(SELECT min(seq) FROM envelopes)",
		"the last row":  "DELETE FROM envelopes WHERE seq=(SELECT max(seq) FROM envelopes)",
		"a snapshot":    "DELETE FROM snapshots WHERE channel=(SELECT id FROM channels WHERE uri='ahp-chat:/other')",
	} {
		t.Run(name, func(t *testing.T) {
			dir := damagedDir(t, Config{})
			execSQL(t, dir, query)
			found, err := DeepCheck(t.Context(), dir)
			must(t, err)
			if len(found.Damage) != 1 || !strings.Contains(found.Damage[0].Error(), "missing") {
				t.Errorf("the deep check finds %v", found.Damage)
			}
		})
	}
}

// Rows of earlier versions have no checksums. They are read, and counted as unchecked.
func TestRowsWithoutChecksumAreRead(t *testing.T) {
	dir := damagedDir(t, Config{})
	execSQL(t, dir, "DROP TABLE audit; ALTER TABLE envelopes DROP COLUMN sum; ALTER TABLE snapshots DROP COLUMN sum; "+
		"ALTER TABLE channels DROP COLUMN sum; ALTER TABLE answers DROP COLUMN sum; ALTER TABLE docs DROP COLUMN sum; "+
		"DROP TRIGGER meta_new; DROP TRIGGER meta_changed; DELETE FROM meta WHERE key LIKE 'copy of %'; PRAGMA user_version=3")
	if _, err := DeepCheck(t.Context(), dir); err == nil || !strings.Contains(err.Error(), "earlier ahphub") {
		t.Errorf("before the upgrade: %v", err)
	}
	s := open(t, Config{Dir: dir})
	got, err := s.Load(t.Context(), chatURI)
	must(t, err)
	if !strings.Contains(encode(t, got.State), "a needle in the journal") {
		t.Errorf("the chat is %s", encode(t, got.State))
	}
	found, err := DeepCheck(t.Context(), dir)
	must(t, err)
	if len(found.Damage) != 0 || found.Unchecked <= found.Rows+found.Channels || found.Rows != 4 {
		t.Errorf("after the upgrade: %+v", found)
	}
}

// Snapshots replace the runs of a long chat; the remaining rows must still be consistent.
func TestDeepCheckOfClosedRuns(t *testing.T) {
	cfg := Config{Dir: t.TempDir(), WindowBytes: 2000}
	l := start(t, cfg)
	for range 200 {
		must(t, l.apply(chatURI, delta("a delta of twenty by")))
		l.settle()
	}
	l.stop()
	found, err := DeepCheck(t.Context(), cfg.Dir)
	must(t, err)
	if len(found.Damage) != 0 || found.Rows == 0 || found.Rows == 200 {
		t.Errorf("the deep check finds %+v", found)
	}
}
