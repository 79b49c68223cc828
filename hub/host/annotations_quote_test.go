package host

import (
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ahphub/ahphub/hub/access"
	"github.com/ahphub/ahphub/hub/ahp"
	"github.com/ahphub/ahphub/hub/host/core"
	"github.com/ahphub/ahphub/hub/host/threads"
)

// A new thread from a client of the protocol gets a quote of its lines, as one from a page has. All
// viewers of the thread see the quote, so only files that guests may read are quoted.
func TestNewThreadQuotesItsLines(t *testing.T) {
	c := newChanging(t)
	c.write(".gitignore", "ignored.txt\n")
	c.turn(func() {
		c.write("n.txt", twelve)
		c.write("long.txt", strings.Repeat("x", 9<<10)+"\n")
		c.write(".env", twelve)
	})
	c.write("ignored.txt", twelve)
	ofPart := commenter
	ofPart.Scope = access.Scope{Kind: ahp.ChannelChat, URI: c.chat()}
	for _, v := range []struct {
		id, file string
		who      access.Principal
		from, to int
		own      map[string]string
		want     string
	}{
		{id: "owner's", file: "n.txt", who: owner, from: 3, to: 4, want: "3\n4"},
		{id: "guest's", file: "n.txt", who: commenter, from: 12, to: 12, want: "12"},
		{id: "quoted by its writer", file: "n.txt", who: owner, from: 3, to: 3, own: map[string]string{"hunk": "mine"},
			want: "mine"},
		{id: "on lines that are not there", file: "n.txt", who: owner, from: 12, to: 13},
		{id: "on the side before", file: "n.txt", who: owner, from: 3, to: 3, own: map[string]string{"side": "before"}},
		{id: "on a key", file: ".env", who: owner, from: 3, to: 3},
		{id: "on an ignored file", file: "ignored.txt", who: owner, from: 3, to: 3},
		{id: "on a long line", file: "long.txt", who: owner, from: 1, to: 1},
		{id: "outside of the session", file: "../elsewhere.txt", who: owner, from: 1, to: 1},
		{id: "of the guest of a part", file: "n.txt", who: ofPart, from: 3, to: 3},
	} {
		t.Run(v.id, func(t *testing.T) {
			e := comment("1", "why?")
			if v.own != nil {
				raw, err := json.Marshal(v.own)
				c.must(err)
				e.Meta = ahp.Meta{core.MetaKey: raw}
			}
			o, err := c.host.Dispatch(t.Context(), as(v.who), notes, 0, &ahp.AnnotationsSetAction{Annotation: ahp.Annotation{
				ID: v.id, Resource: core.FileURI(filepath.Join(c.dir, v.file)), Range: threads.LineRange(v.from, v.to),
				Origin: ahp.AnnotationOrigin{Session: session, Chat: c.chat(), TurnID: "t"}, Entries: []ahp.AnnotationEntry{e}}})
			if err != nil || o.Rejected != "" {
				t.Fatalf("%+v %v", o, err)
			}
			i := threads.FindThread(c.threads(), v.id)
			if got := threads.ThreadOrigin(&c.threads().Annotations[i]).Hunk; got != v.want {
				t.Errorf("the thread quotes %q, want %q", got, v.want)
			}
		})
	}
}
