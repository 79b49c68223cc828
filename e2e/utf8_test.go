package e2e

import (
	"bytes"
	"context"
	"database/sql"
	"net/url"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/coder/websocket"
	_ "modernc.org/sqlite"

	"github.com/ahphub/ahphub/hub/ahp"
	"github.com/ahphub/ahphub/hub/host/core"
)

// frameClient is a client that sends raw frames and, like browsers, closes on one that is not valid
// UTF-8.
type frameClient struct {
	t   *testing.T
	ctx context.Context
	ws  *websocket.Conn
}

func (c frameClient) send(frame string) {
	c.t.Helper()
	if err := c.ws.Write(c.ctx, websocket.MessageText, []byte(frame)); err != nil {
		c.t.Fatal(err)
	}
}

// answerTo reads until a frame contains part.
func (c frameClient) answerTo(part string) string {
	c.t.Helper()
	for {
		_, frame, err := c.ws.Read(c.ctx)
		if err != nil {
			c.t.Fatalf("no frame with %s came: %v", part, err)
		}
		if !utf8.Valid(frame) {
			c.t.Fatalf("a browser closes its socket (1006) on %q", frame)
		}
		if bytes.Contains(frame, []byte(part)) {
			return string(frame)
		}
	}
}

// threadFrame sets a thread whose meta has a note; it is a raw frame.
func threadFrame(session ahp.URI, seq, id, note string) string {
	return `{"jsonrpc":"2.0","method":"dispatchAction","params":{"channel":"` + session + `/annotations","clientSeq":` +
		seq + `,"action":` +
		`{"type":"annotations/set","annotation":{"id":"` + id + `","resource":"file:///a","origin":{"session":"` +
		session + `"},"resolved":false,"_meta":{"note":"` + note + `"},` +
		`"entries":[{"id":"e` + id + `","text":"why"}]}}}}`
}

// A byte that is not UTF-8 must not be stored in a channel: it would close every browser's socket
// from then on.
func TestInvalidUTF8PoisonsNoChannel(t *testing.T) {
	t.Parallel()
	prog := Start(t, Options{Args: []string{"--agent", "script"}})
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	session := ahp.URI("ahp-session:/poisoned")
	c := frameClient{t, ctx, rawOf(t, ctx, prog)}
	subscribe := `{"jsonrpc":"2.0","id":3,"method":"subscribe","params":{"channel":"` + session + `/annotations"}}`
	c.send(`{"jsonrpc":"2.0","id":2,"method":"createSession","params":{"channel":"` + session +
		`","workingDirectories":["file://` + prog.opts.Dir + `"]}}`)
	c.answerTo(`"id":2`)
	c.send(subscribe)
	c.answerTo(`"id":3`)

	c.send(threadFrame(session, "1", "raw", "\xfe"))
	if answer := c.answerTo(`"error"`); !strings.Contains(answer, "-32700") || !strings.Contains(answer, "UTF-8") {
		t.Errorf("a raw byte is answered %s", answer)
	}
	c.send(threadFrame(session, "1", "half", `half \ud83d`)) // what scripts send for an emoji cut in two
	if echo := c.answerTo("half "); !strings.Contains(echo, `half \ufffd`) {
		t.Errorf("half a surrogate pair is echoed as %s", echo)
	}
	c.send(threadFrame(session, "2", "stored", "MARK"))
	c.answerTo("MARK")

	// A form's text is repaired.
	browser, _ := signIn(t, prog.SignIn())
	sendForm(t, browser, prog.URL+"/s/"+core.ShortID(session)+"/title", url.Values{"title": {"a\xfeb"}})
	if _, page := get(t, browser, prog.URL+"/s/"+core.ShortID(session)+"/threads"); !strings.Contains(page, "why") {
		t.Errorf("the threads page says %s", page)
	}

	// An older database: the byte is in a journal row and in a document.
	prog.Kill9()
	if n := poison(t, ctx, prog.Data); n == 0 {
		t.Fatal("no row holds the mark")
	}
	prog.Restart()
	c.ws = rawOf(t, ctx, prog)
	c.send(subscribe)
	if snapshot := c.answerTo(`"id":3`); !strings.Contains(snapshot, "\uFFFD") &&
		!strings.Contains(snapshot, `\ufffd`) {
		t.Errorf("after a restart the channel is %s", snapshot)
	}
	c.send(`{"jsonrpc":"2.0","id":4,"method":"subscribe","params":{"channel":"` + session + `"}}`)
	if answer := c.answerTo(`"id":4`); !strings.Contains(answer, "a\uFFFDb") && !strings.Contains(answer, `a\ufffdb`) {
		t.Errorf("the title is %s", answer)
	}
}

// poison replaces the mark by a byte that is not UTF-8, as stored by earlier versions, and returns
// the number of rows.
func poison(t *testing.T, ctx context.Context, data string) (n int64) {
	t.Helper()
	db, err := sql.Open("sqlite", filepath.Join(data, "ahphub.db"))
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	for _, q := range []string{
		`UPDATE envelopes SET sum=NULL, action=CAST(replace(CAST(action AS TEXT), 'MARK', CAST(x'fe' AS TEXT)) AS BLOB) WHERE instr(action, CAST('MARK' AS BLOB))`,
		`UPDATE snapshots SET sum=NULL, state=CAST(replace(CAST(state AS TEXT), 'MARK', CAST(x'fe' AS TEXT)) AS BLOB) WHERE instr(state, CAST('MARK' AS BLOB))`,
	} {
		r, err := db.ExecContext(ctx, q)
		if err != nil {
			t.Fatal(err)
		}
		changed, err := r.RowsAffected()
		if err != nil {
			t.Fatal(err)
		}
		n += changed
	}
	return n
}
