package notify

import (
	"fmt"
	"strings"
	"testing"

	"github.com/ahphub/ahphub/hub"
	"github.com/ahphub/ahphub/hub/access"
	"github.com/ahphub/ahphub/hub/ahp"
)

// BenchmarkDerive measures notifications in a step of the timeline, under the hub's lock: for an
// action without and with a notice.
func BenchmarkDerive(b *testing.B) {
	for name, action := range map[string]func(i int) ahp.Action{
		"told to nobody": func(int) ahp.Action { return &ahp.ChatDeltaAction{Content: "x"} },
		"a notice":       func(i int) ahp.Action { return ask(fmt.Sprint(i)) },
	} {
		b.Run(name, func(b *testing.B) {
			w := &world{store: newMemory()}
			w.hub = hub.New(hub.Config{}) // without a journal, so that it does not grow
			n, err := New(b.Context(), Config{Hub: w.hub, Host: w, Store: w.store, Keys: w.store.openKeys(b),
				Key:    []byte(strings.Repeat("k", 32)),
				Person: func(string, ahp.URI) (access.Principal, bool) { return access.Principal{}, false },
				Short:  func(ahp.URI) string { return "short" }, ChatID: func(u ahp.URI) string { return u },
				Author: authorOf,
				Guest:  guestsOwn, Public: func() string { return "" }})
			if err != nil {
				b.Fatal(err)
			}
			e := &hub.Envelope{Channel: hub.ChannelInfo{URI: session, Kind: ahp.ChannelSession, Session: session}}
			if err := w.hub.Do(func(tx *hub.Tx) {
				for i := 0; b.Loop(); i++ {
					e.Action = action(i)
					n.Derive(tx, e)
				}
			}); err != nil {
				b.Fatal(err)
			}
		})
	}
}
