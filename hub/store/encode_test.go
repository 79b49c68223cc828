package store

import (
	"bytes"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/ahphub/ahphub/hub"
	"github.com/ahphub/ahphub/hub/ahp"
)

// sampleBatches returns two batches with every kind of write.
func sampleBatches() []hub.Batch {
	at := time.Unix(1_800_000_000, 5000)
	chat := hub.ChannelInfo{URI: chatURI, Kind: ahp.ChannelChat, Session: "ahp-session:/1", Chat: chatURI}
	env := func(seq int64, a ahp.Action, origin *ahp.ActionOrigin) hub.Write {
		return hub.Write{Env: &hub.Envelope{Channel: chat, Seq: seq, Action: a, Origin: origin, Principal: "ana",
			At: at}}
	}
	state := &ahp.ChatState{Resource: chatURI, Status: ahp.SessionStatusIdle, ModifiedAt: "2026-01-02T03:04:05.000Z"}
	record := func(bucket, key, value string) hub.Write {
		r := &hub.Record{Bucket: bucket, Key: key, At: at}
		if value != "" {
			r.Value = []byte(value)
		}
		return hub.Write{Record: r}
	}
	late := &hub.Record{Bucket: "late", Key: "k", At: at,
		Encode: func() ([]byte, error) { return []byte("encoded late"), nil }}
	return []hub.Batch{
		{Upto: 5, Seq: 3, Writes: []hub.Write{
			{Open: &hub.OpenWrite{Info: hub.ChannelInfo{URI: "ahp-session:/gone", Kind: ahp.ChannelSession},
				State: &ahp.SessionState{Title: "s"}}},
			{Open: &hub.OpenWrite{Info: chat, State: state, Seq: 1}},
			env(2, &ahp.ChatDraftChangedAction{}, nil),
			env(3, &ahp.ChatDraftChangedAction{}, &ahp.ActionOrigin{ClientID: "d", ClientSeq: 9}),
			record("audit", "1", "Ana signed in"), record("b", "k", "v"), record("b", "gone", "v"), {Record: late},
			record("b", "k", "v2"),
		}},
		{Upto: 9, Seq: 4, Reserve: true, Writes: []hub.Write{
			{Close: "ahp-session:/gone"}, record("b", "k", "v3"),
			env(5, &ahp.ChatDraftChangedAction{}, &ahp.ActionOrigin{ClientID: "d", ClientSeq: 1100}),
			record("b", "gone", ""), record("audit", "2", "Ben joined"),
			env(4, &ahp.ChatDraftChangedAction{}, &ahp.ActionOrigin{ClientID: "c", ClientSeq: 10}),
			record("client", "ana\nc", "{}"), record("client-seen", "ana\nc", "."), {Prune: at},
		}},
	}
}

// Encoding is deterministic, and the bytes alone give a second store the same content: a follower's
// database equals the leader's.
func TestEncodedBatchesGiveAnotherStoreTheSameContent(t *testing.T) {
	a, b := open(t, Config{}), open(t, Config{})
	for i, batch := range sampleBatches() {
		first, err := Encode(batch, 1<<20)
		must(t, err)
		for range 10 {
			again, err := Encode(sampleBatches()[i], 1<<20)
			must(t, err)
			if !bytes.Equal(first, again) {
				t.Fatalf("batch %d is encoded to other bytes", i)
			}
		}
		must(t, a.Apply(int64(i+1), first))
		must(t, b.Apply(int64(i+1), bytes.Clone(first)))
		must(t, b.Apply(int64(i+1), first)) // applying it again changes nothing
	}
	together := open(t, Config{})
	must(t, applyTogether(together, sampleBatches()))
	dump := dumpAll(t, a)
	if other := dumpAll(t, together); dump != other {
		t.Errorf("one by one the batches leave\n%s\nin one transaction\n%s", dump, other)
	}
	if other := dumpAll(t, b); dump != other {
		t.Errorf("one store has\n%s\nthe other\n%s", dump, other)
	}
	for _, part := range []string{"Ana signed in", "Ben joined", "encoded late", "applied 2", "reserved 1048576",
		"ahp-chat:/1"} {
		if !strings.Contains(dump, part) {
			t.Errorf("%q is not in\n%s", part, dump)
		}
	}
	if strings.Contains(dump, "gone") {
		t.Errorf("what was closed and deleted is in\n%s", dump)
	}
}

// applyTogether applies batches in one transaction.
func applyTogether(s *Store, batches []hub.Batch) error {
	p := newPlan()
	for i, batch := range batches {
		b, err := Encode(batch, 1<<20)
		if err == nil {
			err = s.addBatch(p, int64(i+1), b)
		}
		if err != nil {
			return err
		}
	}
	s.finish(p)
	return s.try(p)
}

// dumpAll returns all rows of all tables.
func dumpAll(t *testing.T, s *Store) string {
	t.Helper()
	tables, err := pool{s.read}.queryStrings(t.Context(),
		"SELECT name FROM sqlite_schema WHERE type='table' ORDER BY name")
	must(t, err)
	var out strings.Builder
	for _, table := range tables {
		rows, err := s.read.Query("SELECT * FROM " + table + " ORDER BY 1, 2")
		must(t, err)
		columns, err := rows.Columns()
		must(t, err)
		values := make([]any, len(columns))
		for i := range values {
			values[i] = new(any)
		}
		must(t, scan(rows, func() error {
			err := rows.Scan(values...)
			fmt.Fprint(&out, table, ":")
			for _, v := range values {
				switch v := (*v.(*any)).(type) {
				case []byte:
					fmt.Fprintf(&out, " %q", v)
				default:
					fmt.Fprint(&out, " ", v)
				}
			}
			fmt.Fprintln(&out)
			return err
		}))
	}
	return out.String()
}

func TestBatchesFollowEachOther(t *testing.T) {
	dir := t.TempDir()
	s := open(t, Config{Dir: dir})
	batches := sampleBatches()
	first, err := Encode(batches[0], 0)
	must(t, err)
	if err := s.Apply(2, first); err == nil || !strings.Contains(err.Error(), "batch 2 does not follow batch 0") {
		t.Errorf("a gap: %v", err)
	}
	must(t, s.Apply(1, first))
	must(t, s.Close())
	s = open(t, Config{Dir: dir})
	must(t, s.Apply(1, first)) // already applied before the restart
	second, err := Encode(batches[1], 0)
	must(t, err)
	must(t, s.Apply(2, second))
}

func TestDamagedBatchesAreRefused(t *testing.T) {
	good, err := Encode(sampleBatches()[0], 0)
	must(t, err)
	s := open(t, Config{})
	for i := range good {
		bad := bytes.Clone(good)
		bad[i] ^= 0x40
		if err := s.Apply(1, bad); !errors.Is(err, errEncoding) {
			t.Fatalf("byte %d: %v", i, err)
		}
	}
	for n := range good {
		if err := s.Apply(1, good[:n]); !errors.Is(err, errEncoding) {
			t.Fatalf("%d bytes: %v", n, err)
		}
	}
	must(t, s.Apply(1, good))
}

// FuzzApply applies arbitrary bytes with a valid checksum: Apply may fail, but never panics.
func FuzzApply(f *testing.F) {
	for _, b := range sampleBatches() {
		good, err := Encode(b, 7)
		must(f, err)
		f.Add(good[:len(good)-4])
	}
	s := open(f, Config{})
	f.Fuzz(func(t *testing.T, b []byte) {
		d := decoder{buf: b}
		for range 100 {
			p := newPlan()
			if s.planWrite(p, &d) != nil {
				return
			}
		}
	})
}

// Only the journal writes: the store has no other call that changes the database.
func TestOnlyTheJournalWrites(t *testing.T) {
	reads := map[string]bool{"AuditBefore": true, "AuditEntries": true, "Backup": true, "Binding": true, "Client": true,
		"Documents": true, "Each": true, "Err": true, "Get": true, "LastAlive": true, "List": true, "Load": true,
		"Copy": true, "Mark": true, "Position": true, "Records": true,
		"BindingRecord": true, "ClientRecord": true, "SeenRecord": true} // records for the timeline
	journal := map[string]bool{"Apply": true, "ApplyMarked": true, "Run": true, "RunBy": true,
		"Boot": true, "BootBy": true /* reserve numbers */, "Maintain": true, /* closes runs, as Run does */
		"Close": true, "Sync": true,
		"Compact": true /* moves pages, and changes no row */}
	for m := range reflect.TypeFor[*Store]().NumMethod() {
		if name := reflect.TypeFor[*Store]().Method(m).Name; !reads[name] && !journal[name] {
			t.Errorf("Store.%s is new: when it writes, it must go by the journal; else give it a row here", name)
		}
	}
}
