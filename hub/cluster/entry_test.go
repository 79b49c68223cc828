package cluster

import (
	"bytes"
	"testing"
)

func TestEntryHashChain(t *testing.T) {
	var at Place
	var raws [][]byte
	for i := range 3 {
		raw, place := encode(at, 7, 2, []byte{byte(i)})
		e, before, err := decode(raw)
		if err != nil || before != at.Hash || e.Place != place || e.Position != uint64(i+1) ||
			e.Term != 7 || e.Version != 2 ||
			!bytes.Equal(e.Batch, []byte{byte(i)}) {
			t.Fatalf("entry %d decodes to %+v after %x, %v", i, e, before, err)
		}
		at, raws = place, append(raws, raw)
	}
	changed := bytes.Clone(raws[0])
	changed[len(changed)-1] ^= 1
	e, _, err := decode(changed)
	if _, after, _ := decode(raws[1]); err != nil || e.Hash == after {
		t.Errorf("a changed entry still has the hash in the next one: %v", err)
	}
}

func FuzzDecode(f *testing.F) {
	raw, _ := encode(Place{}, 1, 1, []byte("batch"))
	f.Add(raw)
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, b []byte) {
		e, before, err := decode(b)
		if err != nil {
			return
		}
		again, place := encode(Place{e.Position - 1, before}, e.Term, e.Version, e.Batch)
		if !bytes.Equal(again, b) || place != e.Place {
			t.Errorf("%x is re-encoded as %x", b, again)
		}
	})
}
