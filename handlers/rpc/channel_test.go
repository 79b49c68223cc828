package rpc

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/ahphub/ahphub/hub"
	"github.com/ahphub/ahphub/hub/ahp"
)

// A method of the connection names ahp-root://, and no other channel (AHP requirement 4).
func TestMethodsOfTheConnectionNameRoot(t *testing.T) {
	w := newWorld(t, Config{}, hub.Config{})
	p := w.dial("owner")
	p.send(`{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"channel":"ahp-root://","protocolVersions":["1.0.0"],"clientId":"a"}}`)
	_, err := p.next()
	must(t, err)
	checked := 0
	for _, name := range slices.Sorted(maps.Keys(methods)) {
		if methods[name].channel != rootChannel {
			continue
		}
		for _, channel := range []string{"", `"channel":""`, `"channel":"ahp-session:/1"`, `"channel":"ahp-root:"`} {
			p.send(fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":%q,"params":{%s}}`, name, channel))
			got, err := p.next()
			must(t, err)
			if err := match(`{"jsonrpc":"2.0","id":1,"error":{"code":-32602,"message":"*"}}`, got); err != nil {
				t.Errorf("%s with {%s}: %v", name, channel, err)
			}
			checked++
		}
	}
	if checked < 4*15 {
		t.Errorf("only %d requests were checked", checked)
	}
}

// A deletion is answered once other nodes of a cluster do not show the session any more.
func TestDeletionAwaitsNodes(t *testing.T) {
	var w *world
	awaited := 0
	w = newWorld(t, Config{AwaitNodes: func(context.Context) {
		awaited++
		title := fmt.Sprint("awaited ", awaited)
		must(t, w.hub.Do(func(tx *hub.Tx) { tx.Apply("ahp-session:/2", &ahp.SessionTitleChangedAction{Title: title}) }))
	}}, hub.Config{})
	p := w.dial("owner")
	p.initialize("a", "ahp-session:/2")
	for _, ask := range []string{`"disposeChat","params":{"channel":"ahp-chat:/1"}`, `"disposeSession","params":{"channel":"ahp-session:/1"}`} {
		p.send(`{"jsonrpc":"2.0","id":"delete","method":` + ask + `}`)
		if got := p.read(); !strings.Contains(got, "awaited") {
			t.Errorf("%s is followed by %s before other nodes are awaited", ask, got)
		}
		if got := p.read(); !strings.Contains(got, `"id":"delete","result":null`) {
			t.Errorf("%s: %s", ask, got)
		}
	}
}
