package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/ahphub/ahphub/hub"
	"github.com/ahphub/ahphub/hub/ahp"
)

// fullDir returns a directory whose database has rows in every table, and an empty log.
func fullDir(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	l := start(t, Config{Dir: dir, WindowBytes: 2000})
	for i := range 150 {
		must(t, l.apply(chatURI, delta("a delta of twenty by")))
		must(t, l.h.Do(func(tx *hub.Tx) {
			tx.Record("link", fmt.Sprint("key ", i), []byte(strings.Repeat("v", 10*i)))
			tx.Record(auditBucket, "", []byte(fmt.Sprint("entry ", i)))
		}))
		l.settle()
	}
	l.stop()
	s := open(t, Config{Dir: dir})
	for i := range 20 {
		e := &hub.Envelope{Channel: hub.ChannelInfo{URI: chatURI}, Seq: int64(10_000_000 + i), At: time.UnixMicro(1_000_000),
			Principal: "owner", Action: delta("answered"), Origin: &ahp.ActionOrigin{ClientID: "c", ClientSeq: int64(i)}}
		b, err := Encode(hub.Batch{Upto: 1, Seq: e.Seq, Writes: []hub.Write{{Env: e}}}, e.Seq+1000)
		must(t, err)
		must(t, s.Apply(s.Position()+1, b))
	}
	_, err := s.conn.exec("PRAGMA wal_checkpoint(TRUNCATE)")
	must(t, err)
	must(t, s.Close())
	return dir
}

// dump returns everything that the program reads.
func dump(t *testing.T, dir string) string {
	t.Helper()
	db, err := openDB(filepath.Join(dir, databaseName), readerPragmas)
	must(t, err)
	defer db.Close()
	var out strings.Builder
	for _, q := range []string{"SELECT * FROM meta ORDER BY key", "SELECT * FROM channels ORDER BY id", "SELECT * FROM snapshots ORDER BY channel",
		"SELECT seq, channel, at, principal, client, client_seq, action FROM envelopes ORDER BY seq", "SELECT * FROM audit ORDER BY n",
		"SELECT * FROM answers ORDER BY client, client_seq", "SELECT * FROM docs ORDER BY bucket, key",
		"SELECT seq FROM envelopes INDEXED BY envelopes_channel WHERE channel > 0 ORDER BY channel, seq",
		"SELECT seq FROM answers INDEXED BY answers_seq WHERE seq > 0 ORDER BY seq"} {
		rows, err := db.Query(q)
		must(t, err)
		columns, err := rows.Columns()
		must(t, err)
		must(t, scan(rows, func() error {
			values, to := make([]sql.RawBytes, len(columns)), make([]any, len(columns))
			for i := range values {
				to[i] = &values[i]
			}
			err := rows.Scan(to...)
			fmt.Fprintf(&out, "%s\n", values)
			return err
		}))
	}
	return out.String()
}

// For any flipped bit of the file, the check finds it or the bit is never read.
func TestCheckWholeFindsAnyFlippedBit(t *testing.T) {
	dir := fullDir(t)
	must(t, CheckWhole(t.Context(), dir))
	want := dump(t, dir)
	path := filepath.Join(dir, databaseName)
	whole, err := os.ReadFile(path)
	must(t, err)
	rng := rand.New(rand.NewPCG(1, 2))
	found := 0
	for range 400 {
		at, bit := rng.IntN(len(whole)), byte(1)<<rng.IntN(8)
		whole[at] ^= bit
		must(t, os.WriteFile(path, whole, 0o600))
		whole[at] ^= bit
		err := func() error {
			s, err := Open(context.Background(), Config{Dir: dir})
			if err != nil {
				return err
			}
			defer s.Close()
			return CheckWhole(t.Context(), dir)
		}()
		os.Remove(path + "-wal")
		os.Remove(path + "-shm")
		switch {
		case err == nil && dump(t, dir) != want:
			t.Errorf("bit %d of byte %d changes what is read, and is not found", bit, at)
		case err != nil && !errors.Is(err, ErrDamaged) && !errors.Is(err, ErrNewer):
			t.Errorf("bit %d of byte %d: %v", bit, at, err)
		case err != nil:
			found++
			if says := DescribeDamage(err); strings.Contains(says, "backup") || says == "" {
				t.Errorf("the damage is described as %q", says)
			}
		}
	}
	t.Logf("%d of 400 found", found)
}
