package proxy

import (
	"log/slog"
	"os"
	"path/filepath"
	"testing"

	"github.com/ahphub/ahphub/hub/sandbox"
)

func TestContactsOutliveRestartAndNotTheirSession(t *testing.T) {
	dir := t.TempDir()
	restart := func(old *Proxy) *Proxy {
		if old != nil {
			old.Close()
		}
		p := New(Config{Log: slog.New(slog.DiscardHandler), Dir: dir})
		t.Cleanup(p.Close)
		return p
	}
	if err := os.Mkdir(filepath.Join(dir, "s1"), 0o700); err != nil {
		t.Fatal(err)
	}
	refused := sandbox.Contact{Destination: sandbox.Destination{Host: "evil.example", Port: 443}, Reason: "not on the list"}
	p := restart(nil)
	p.contacts.note("s1", refused)
	p.contacts.note("deleted", refused)
	p.contacts.note("../s1", refused)
	p = restart(p)
	if got := p.Contacts("s1"); len(got) != 1 || got[0].Host != "evil.example" || got[0].Reason != refused.Reason ||
		got[0].Times != 1 || got[0].Last.IsZero() {
		t.Errorf("after a restart there is %+v", got)
	}
	p.contacts.note("s1", refused)
	p = restart(p)
	if got := p.Contacts("s1"); len(got) != 1 || got[0].Times != 2 {
		t.Errorf("after another restart there is %+v", got)
	}
	if got := p.Contacts("deleted"); len(got) != 0 {
		t.Errorf("a deleted session has %+v", got)
	}
	if entries, err := os.ReadDir(dir); err != nil || len(entries) != 1 {
		t.Error("files of deleted sessions: ", entries, err)
	}
}
