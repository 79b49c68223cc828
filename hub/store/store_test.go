package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/ahphub/ahphub/hub"
)

func TestMain(m *testing.M) {
	if child := os.Getenv(childEnv); child != "" {
		runChild(child)
		return
	}
	goleak.VerifyTestMain(m, goleak.IgnoreAnyFunction("database/sql.(*DB).connectionOpener"))
}

// open opens a data directory until the end of the test.
func open(t testing.TB, cfg Config) *Store {
	t.Helper()
	if cfg.Dir == "" {
		cfg.Dir = t.TempDir()
	}
	if cfg.Log == nil {
		cfg.Log = slog.New(slog.DiscardHandler)
	}
	s, err := Open(context.Background(), cfg)
	must(t, err)
	t.Cleanup(func() { must(t, s.Close()) })
	return s
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// write applies records as the journal does.
func write(s *Store, records ...hub.Record) error {
	var batch hub.Batch
	for i := range records {
		batch.Writes = append(batch.Writes, hub.Write{Record: &records[i]})
	}
	b, err := Encode(batch, 0)
	if err != nil {
		return err
	}
	return s.Apply(s.position+1, b)
}

// put writes one document.
func put(s *Store, bucket, key string, v []byte) error {
	return write(s, hub.Record{Bucket: bucket, Key: key, At: time.Now(), Value: append([]byte{}, v...)})
}

func TestDocumentsSurviveReopening(t *testing.T) {
	ctx, dir := t.Context(), t.TempDir()
	s := open(t, Config{Dir: dir})
	must(t, put(s, "people", "ana", []byte("1")))
	must(t, put(s, "people", "ana", []byte("2")))
	must(t, put(s, "people", "bo", nil))
	must(t, put(s, "links", "ana", []byte("other")))
	must(t, put(s, "people", "cy", []byte("3")))
	must(t, put(s, "people", "dee", []byte("5")))
	must(t, write(s, hub.Record{Bucket: "people", Key: "dee"}, hub.Record{Bucket: "people", Key: "nobody"}))
	must(t, s.Close())

	s = open(t, Config{Dir: dir})
	docs, err := s.List(ctx, "people", "")
	must(t, err)
	var got []string
	for _, d := range docs {
		got = append(got, d.Key+"="+string(d.Value))
	}
	if want := "ana=2 bo= cy=3"; strings.Join(got, " ") != want {
		t.Errorf("people are %q, want %q", got, want)
	}
	if v, ok, err := s.Get(ctx, "people", "ana"); string(v) != "2" || !ok || err != nil {
		t.Errorf("ana is %q, %v, %v", v, ok, err)
	}
	if _, ok, err := s.Get(ctx, "people", "dee"); ok || err != nil {
		t.Errorf("a deleted document: %v, %v", ok, err)
	}
}

func TestListTakesPrefixesLiterally(t *testing.T) {
	ctx, s := t.Context(), open(t, Config{})
	for _, key := range []string{"a", "a%", "a%1", "a_1", "ab", "é", "éa"} {
		must(t, put(s, "b", key, nil))
	}
	for prefix, want := range map[string]int{"": 7, "a": 5, "a%": 2, "a_": 1, "é": 2, "z": 0} {
		docs, err := s.List(ctx, "b", prefix)
		must(t, err)
		if len(docs) != want {
			t.Errorf("prefix %q lists %d, want %d", prefix, len(docs), want)
		}
	}
}

func TestOneProcessADirectory(t *testing.T) {
	dir := t.TempDir()
	s := open(t, Config{Dir: dir})
	_, err := Open(t.Context(), Config{Dir: dir})
	if !errors.Is(err, ErrLocked) || !strings.Contains(err.Error(), fmt.Sprint(os.Getpid())) ||
		!strings.Contains(err.Error(), dir) {
		t.Fatalf("second Open: %v, want the path and the process that holds it", err)
	}
	must(t, s.Close())
	open(t, Config{Dir: dir})
}

func TestNewerDatabaseIsNotTouched(t *testing.T) {
	dir := t.TempDir()
	must(t, open(t, Config{Dir: dir}).Close())
	path := filepath.Join(dir, databaseName)
	setVersion(t, path, len(migrations)+1)
	before, names := content(t, dir)
	_, err := Open(t.Context(), Config{Dir: dir})
	if !errors.Is(err, ErrNewer) || !strings.Contains(err.Error(), "upgrade") {
		t.Fatalf("Open: %v, want ErrNewer and what to do", err)
	}
	after, namesAfter := content(t, dir)
	if before != after || names != namesAfter {
		t.Errorf("files changed: %s before, %s after", names, namesAfter)
	}
}

func setVersion(t *testing.T, path string, v int) {
	t.Helper()
	db, err := sql.Open("sqlite", path)
	must(t, err)
	_, err = db.Exec(fmt.Sprintf("PRAGMA user_version=%d; PRAGMA wal_checkpoint(TRUNCATE)", v))
	must(t, err)
	must(t, db.Close())
}

func content(t *testing.T, dir string) (all, names string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	must(t, err)
	for _, e := range entries {
		b, err := os.ReadFile(filepath.Join(dir, e.Name()))
		must(t, err)
		all, names = all+string(b), names+e.Name()+" "
	}
	return all, names
}

func TestDamagedDatabaseIsRefused(t *testing.T) {
	cases := map[string]func(b []byte) []byte{
		"no database": func([]byte) []byte { return []byte("hello, I am a text file") },
		"another program's": func(b []byte) []byte {
			copy(b[68:], "text")
			return b
		},
		"a page of noise": func(b []byte) []byte {
			for i := 4096 + 100; i < 8192; i++ {
				b[i] = byte(i * 7)
			}
			for i := 8192; i < 8300; i++ {
				b[i] = 0xff
			}
			return b
		},
	}
	for name, spoil := range cases {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			must(t, open(t, Config{Dir: dir}).Close())
			path := filepath.Join(dir, databaseName)
			b, err := os.ReadFile(path)
			must(t, err)
			must(t, os.WriteFile(path, spoil(b), 0o600))
			s, err := Open(t.Context(), Config{Dir: dir})
			if !errors.Is(err, ErrDamaged) {
				t.Errorf("Open: %v, want ErrDamaged", err)
			}
			if err == nil {
				s.Close()
			}
		})
	}
}

func TestLargeDatabaseIsCheckedInBackground(t *testing.T) {
	dir := t.TempDir()
	must(t, open(t, Config{Dir: dir}).Close())
	s := open(t, Config{Dir: dir, CheckBytes: 1})
	must(t, put(s, "b", "k", nil))
	must(t, s.Close()) // waits for the check
	must(t, s.Err())
}

func TestFilesAreTheOwnersAlone(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "new", "data")
	s := open(t, Config{Dir: dir})
	must(t, put(s, "b", "k", nil))
	must(t, s.Backup(t.Context(), filepath.Join(dir, "copy.db")))
	entries, err := os.ReadDir(dir)
	must(t, err)
	for _, e := range entries {
		fi, err := e.Info()
		must(t, err)
		if fi.Mode().Perm() != 0o600 {
			t.Errorf("%s has mode %v", e.Name(), fi.Mode())
		}
	}
	if fi, err := os.Stat(dir); err != nil || fi.Mode().Perm() != 0o700 {
		t.Errorf("the directory: %v, %v", fi.Mode(), err)
	}
}

func TestBackupIsADataDirectory(t *testing.T) {
	ctx, dir, to := t.Context(), t.TempDir(), t.TempDir()
	s := open(t, Config{Dir: dir})
	must(t, put(s, "b", "k", []byte("v")))
	must(t, BackupDir(ctx, dir, filepath.Join(to, databaseName))) // while it is in use
	if err := s.Backup(ctx, filepath.Join(to, databaseName)); !errors.Is(err, os.ErrExist) {
		t.Errorf("backup over a file: %v", err)
	}
	copied := open(t, Config{Dir: to})
	if v, ok, err := copied.Get(ctx, "b", "k"); string(v) != "v" || !ok {
		t.Errorf("the copy holds %q, %v, %v", v, ok, err)
	}
}

// Batches that wait for the disk share the next transaction.
func TestWaitingBatchesShareTransaction(t *testing.T) {
	commits, entered, release := 0, make(chan struct{}), make(chan struct{})
	cfg := Config{}
	cfg.fail = func() error {
		if commits++; commits == 2 { // the first one is Boot's
			close(entered)
			<-release
		}
		return nil
	}
	l := start(t, cfg)
	<-entered
	position := l.h.Position()
	const puts = 6
	for i := range puts {
		must(t, l.h.Do(func(tx *hub.Tx) { tx.Record("b", fmt.Sprint(i), []byte("v")) }))
		if i == 0 { // by the other writer, which waits for its turn
			eventually(t, "taken", l.h.Taken)
		}
	}
	close(release)
	must(t, l.h.Settle(t.Context(), position))
	docs, err := l.s.List(t.Context(), "b", "")
	must(t, err)
	if len(docs) != puts || commits > 3 {
		t.Errorf("%d documents in %d transactions", len(docs), commits)
	}
}

func TestCallsAfterCloseSaySo(t *testing.T) {
	s := open(t, Config{})
	must(t, s.Close())
	if err := put(s, "b", "k", nil); !errors.Is(err, ErrClosed) {
		t.Errorf("a write after Close: %v", err)
	}
	must(t, s.Close())
}
