package rpc

import (
	"fmt"
	"maps"
	"slices"
	"testing"

	"github.com/ahphub/ahphub/hub"
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
