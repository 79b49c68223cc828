package rpc

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/ahphub/ahphub/hub/ahp"
)

// watch requests a watch on the host's directory and follows it.
func (p *peer) watch(w *world) (channel ahp.URI) {
	p.t.Helper()
	p.send(`{"jsonrpc":"2.0","id":"w","method":"createResourceWatch","params":{"channel":"ahp-root://","uri":"file://` +
		w.dir + `","recursive":true,"excludes":{"items":["*.tmp"]}}}`)
	var answer struct{ Result ahp.CreateResourceWatchResult }
	must(p.t, json.Unmarshal([]byte(p.read()), &answer))
	p.follow(answer.Result.Channel)
	return answer.Result.Channel
}

func (p *peer) follow(channel ahp.URI) {
	p.t.Helper()
	p.send(`{"jsonrpc":"2.0","id":"s","method":"subscribe","params":{"channel":"` + channel + `"}}`)
	if got := p.read(); !strings.Contains(got, `"state":{"root":"file://`) ||
		!strings.Contains(got, `"recursive":true`) {
		p.t.Fatalf("the watch is %s", got)
	}
}

// AHP requirements 182, 183 and 186.
func TestResourceWatch(t *testing.T) {
	w := realWorld(t)
	a, b := w.dial("owner"), w.dial("owner")
	a.initialize("a")
	b.initialize("b")
	one, two := a.watch(w), a.watch(w)
	if one == two || !strings.HasPrefix(one, "ahp-resource-watch:/") {
		t.Fatalf("the channels are %s and %s", one, two)
	}
	a.send(`{"jsonrpc":"2.0","method":"unsubscribe","params":{"channel":"` + two + `"}}`)
	b.follow(one)

	must(t, os.WriteFile(filepath.Join(w.dir, "a.tmp"), nil, 0o600))
	must(t, os.WriteFile(filepath.Join(w.dir, "a.txt"), nil, 0o600))
	for _, p := range []*peer{a, b} {
		got := p.read()
		want := `{"type":"resourceWatch/changed","changes":{"items":[{"uri":"file://` + w.dir +
			`/a.txt","type":"added"}]}}`
		if !strings.Contains(got, want) || !strings.Contains(got, `"channel":"`+one+`"`) {
			t.Errorf("got %s", got)
		}
	}

	w.gone(two)
	a.send(`{"jsonrpc":"2.0","id":"u","method":"unsubscribe","params":{"channel":"` + one + `"}}`)
	a.read()
	if _, there := w.hub.Info(one); !there {
		t.Error("the watch ended while b follows it")
	}
	b.ws.CloseNow()
	w.gone(one)
	a.send(`{"jsonrpc":"2.0","id":"s","method":"subscribe","params":{"channel":"` + one + `"}}`)
	if got := a.read(); !strings.Contains(got, `"code":-32008`) {
		t.Errorf("a released watch answers %s", got)
	}
}

// A watch without followers ends with the connection that made it.
func TestUnfollowedWatchEnds(t *testing.T) {
	w := realWorld(t)
	a := w.dial("owner")
	a.initialize("a")
	a.send(`{"jsonrpc":"2.0","id":"w","method":"createResourceWatch","params":{"channel":"ahp-root://","uri":"file://` +
		w.dir + `"}}`)
	var answer struct{ Result ahp.CreateResourceWatchResult }
	must(t, json.Unmarshal([]byte(a.read()), &answer))
	if _, there := w.hub.Info(answer.Result.Channel); !there {
		t.Fatal("there is no channel")
	}
	a.ws.CloseNow()
	w.gone(answer.Result.Channel)
}

// gone waits until a channel is closed.
func (w *world) gone(channel ahp.URI) {
	w.t.Helper()
	for deadline := time.Now().Add(10 * time.Second); ; <-time.After(5 * time.Millisecond) {
		if _, there := w.hub.Info(channel); !there {
			return
		}
		if time.Now().After(deadline) {
			w.t.Fatalf("%s is still there", channel)
		}
	}
}
