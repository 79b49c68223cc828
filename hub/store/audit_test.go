package store

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ahphub/ahphub/hub"
)

// The audit is append-only, even for the journal's own writes and plain SQL.
func TestAuditIsAppendOnly(t *testing.T) {
	ctx, dir := t.Context(), t.TempDir()
	s := open(t, Config{Dir: dir})
	must(t, write(s, hub.Record{Bucket: "audit", Key: "1", Value: []byte("Ana signed in")}, hub.Record{Bucket: "other",
		Key: "1", Value: []byte("a")}))
	must(t, write(s, hub.Record{Bucket: "audit", Key: "1"}, hub.Record{Bucket: "other", Key: "1"}))
	must(t, s.transact(func(c *conn) error {
		for _, statement := range []string{"DELETE FROM audit", "UPDATE audit SET entry='x'",
			"REPLACE INTO audit (n, entry, hash) VALUES (1,'new','')",
			"INSERT INTO docs (bucket, key, at, value) VALUES ('audit','0',0,'old')",
			"DELETE FROM docs WHERE bucket='audit'", "UPDATE docs SET value='x' WHERE bucket='audit'",
			"REPLACE INTO docs (bucket, key, at, value) VALUES ('audit','0',0,'new')"} {
			if _, err := c.ExecContext(ctx, statement); err != nil {
				return err
			}
		}
		return nil
	}))
	must(t, write(s, hub.Record{Bucket: "audit", Key: "3", Value: []byte("Ben joined")}))
	must(t, s.Close())
	s = open(t, Config{Dir: dir})
	if got := auditOf(t, s); got != "old, Ana signed in, Ben joined" {
		t.Errorf("the audit is %q", got)
	}
	for before, want := range map[int64]string{0: "2 Ben joined, 1 Ana signed in, -1 old", 2: "1 Ana signed in, -1 old",
		1: "-1 old", -1: ""} {
		var all []string
		must(t, s.AuditBefore(ctx, before, func(n int64, entry []byte) bool {
			all = append(all,
				fmt.Sprint(n, " ", string(entry)))
			return true
		}))
		if got := strings.Join(all, ", "); got != want {
			t.Errorf("before %d the audit is %q", before, got)
		}
		n := 0
		must(t, s.AuditBefore(ctx, before, func(int64, []byte) bool { n++; return false }))
		if n > 1 {
			t.Errorf("before %d: %d entries were visited after enough was read", before, n)
		}
	}
	if _, ok, _ := s.Get(ctx, "other", "1"); ok {
		t.Error("what is no audit cannot be deleted either")
	}
}

func auditOf(t *testing.T, s *Store) string {
	t.Helper()
	var all []string
	must(t, s.AuditEntries(t.Context(), func(entry []byte) error { all = append(all, string(entry)); return nil }))
	return strings.Join(all, ", ")
}

// A long audit is read in pages, and no statement is open during a visit, so that a slow visit
// blocks neither memory nor the database.
func TestAuditIsReadInPages(t *testing.T) {
	s := open(t, Config{Dir: t.TempDir()})
	var records []hub.Record
	for i := range 2*auditRows + 7 {
		records = append(records, hub.Record{Bucket: "audit", Key: fmt.Sprint(i), Value: fmt.Append(nil, "entry ", i)})
	}
	must(t, write(s, records...))
	n := 0
	must(t, s.AuditEntries(t.Context(), func(entry []byte) error {
		if want := fmt.Sprint("entry ", n); string(entry) != want {
			t.Fatalf("entry %d is %q", n, entry)
		}
		if open := s.read.Stats().InUse; open > 0 {
			t.Fatalf("%d connections are in use while an entry is handed on", open)
		}
		n++
		return nil
	}))
	if n != len(records) {
		t.Errorf("%d entries were read of %d", n, len(records))
	}
	stop := errors.New("enough")
	if err := s.AuditEntries(t.Context(), func([]byte) error { return stop }); !errors.Is(err, stop) {
		t.Errorf("a reader's error is %v", err)
	}
}

// An entry changed, removed or truncated outside of the program is detected.
func TestDeepCheckFindsChangedAudit(t *testing.T) {
	for name, c := range map[string]struct{ statement, want string }{
		"untouched": {"SELECT 1", ""},
		"changed": {"DROP TRIGGER entry_stays; UPDATE audit SET entry='Cleo signed in' WHERE n=2",
			"entry 2 of the audit was changed"},
		"taken out": {"DROP TRIGGER entry_kept; DELETE FROM audit WHERE n=2",
			"entry 2 of the audit was changed, or entries before it were removed"},
		"cut off": {"DROP TRIGGER entry_kept; DELETE FROM audit WHERE n=3", "the audit has 2 entries, and had 3"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			s := open(t, Config{Dir: dir})
			must(t, write(s, hub.Record{Bucket: "audit", Value: []byte("Ana signed in")}, hub.Record{Bucket: "audit",
				Value: []byte("Ben joined")}))
			must(t, write(s, hub.Record{Bucket: "audit", Value: []byte("Ana signed out")}))
			must(t, s.transact(func(db *conn) error { _, err := db.ExecContext(t.Context(), c.statement); return err }))
			must(t, s.Close())
			d, err := DeepCheck(t.Context(), dir)
			must(t, err)
			if got := errors.Join(d.Damage...); (c.want == "") != (got == nil) || got != nil &&
				!strings.Contains(got.Error(), c.want) {
				t.Errorf("the check says %v, want %q", got, c.want)
			}
		})
	}
}

// A database of the previous version keeps its audit, outside of the chain.
func TestAuditOfVersion4IsKept(t *testing.T) {
	dir := t.TempDir()
	makeVersion(t, dir, 4)
	s := open(t, Config{Dir: dir})
	must(t, write(s, hub.Record{Bucket: "audit", Key: "2", Value: []byte("Ben joined")}))
	if got := auditOf(t, s); got != "Ana signed in, Ben joined" {
		t.Errorf("the audit is %q", got)
	}
	must(t, s.Close())
	d, err := DeepCheck(t.Context(), dir)
	must(t, err)
	if d.Entries != 1 || len(d.Damage) > 0 {
		t.Errorf("%d entries are in the chain, damage %v", d.Entries, d.Damage)
	}
}

// makeVersion creates a database of an earlier version with a chat, an envelope and an audit entry.
func makeVersion(t *testing.T, dir string, version int) {
	t.Helper()
	db, err := openDB(filepath.Join(dir, databaseName), writerPragmas)
	must(t, err)
	defer db.Close()
	for _, m := range migrations[:version] {
		_, err := db.Exec(m)
		must(t, err)
	}
	_, err = db.Exec(fmt.Sprintf(`PRAGMA application_id=%d; PRAGMA user_version=%d;
		INSERT INTO channels (id, uri, kind, session, floor, last, run, snap) VALUES (7, 'ahp-chat:/1', 'chat', 'ahp-session:/1', 0, 1, 41, 2);
		INSERT INTO snapshots (channel, seq, state) VALUES (7, 0, '{"resource":"ahp-chat:/1","title":"","status":1,"modifiedAt":"","turns":[]}');
		INSERT INTO envelopes (seq, channel, at, bytes, action) VALUES (1, 7, 5, 41, '{"type":"chat/draftChanged","draft":null}');
		INSERT INTO docs (bucket, key, at, value) VALUES ('audit', '1', 0, 'Ana signed in'), ('link', 'l', 0, 'kept')`,
		applicationID, version))
	must(t, err)
}
