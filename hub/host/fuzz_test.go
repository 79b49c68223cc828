package host

import (
	"testing"

	"github.com/ahphub/ahphub/hub/ahp"
	"github.com/ahphub/ahphub/hub/host/core"
)

// FuzzCursors checks that any cursor of a client is either valid or refused.
func FuzzCursors(f *testing.F) {
	turns := []*ahp.Turn{{ID: "a"}, {ID: "b"}, {ID: "c"}}
	f.Add(position{"2026-01-02T03:04:05.000Z", "a:/1"}.cursor())
	f.Add(turnsCursor(turns, 1))
	f.Add("e30")
	f.Add("%%%")
	f.Fuzz(func(t *testing.T, cursor string) {
		if p, err := parseCursor(cursor); err == nil && p.Resource == "" {
			t.Error("a cursor without a session was taken")
		}
		i, err := turnsBefore(turns, cursor)
		if err != nil && code(err) != ahp.CodeInvalidParams {
			t.Errorf("refused with %v", err)
		}
		if i < 0 || i > len(turns) {
			t.Errorf("%d of %d turns are older", i, len(turns))
		}
	})
}

// FuzzStamp checks that a forged or broken `_meta` never names a person.
func FuzzStamp(f *testing.F) {
	f.Add([]byte(`{"by":{"id":"owner","name":"Ana"},"at":"2026-01-02T03:04:05Z","side":"after","hunk":"x"}`))
	f.Add([]byte(`{"by":{"id":""}}`))
	f.Add([]byte(`[]`))
	f.Fuzz(func(t *testing.T, raw []byte) {
		m := ahp.Meta{core.MetaKey: raw}
		if s, ok := core.ReadStamp(m); ok && s.By.ID == "" {
			t.Error("nobody was read as somebody")
		}
		if kept := core.KeepStamp(nil, m); kept[core.MetaKey] != nil {
			t.Error("a forged stamp was kept")
		}
	})
}
