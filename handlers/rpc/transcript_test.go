package rpc

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ahphub/ahphub/hub"
	"github.com/ahphub/ahphub/hub/ahp"
)

// TestTranscripts plays testdata: one file per topic, one section per scenario on its own
// server, one step per line:
//
//	a = guest       client a is the guest from its next connection on (else the owner); "owner at root" and
//	                "guest at root" connect where sessions are named by their provider
//	a> JSON         a sends; it connects first if necessary
//	a< JSON         a's next frame; "*" stands for any value, "*whole" for a number written without a fraction,
//	                a key "..." for any further ones
//	a~ JSON         like a<, after any other frames
//	a! CODE         a is disconnected with this code
//	a x             a drops the connection
//	host VERB …     the host does something (see world.act)
//
// Lines that begin with # are comments.
func TestTranscripts(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txtar")
	must(t, err)
	if len(files) == 0 {
		t.Fatal("no transcripts")
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		must(t, err)
		for name, script := range sections(string(text)) {
			t.Run(strings.TrimSuffix(filepath.Base(file), ".txtar")+"/"+name, func(t *testing.T) {
				play(t, script)
			})
		}
	}
}

// sections splits a txtar archive, without the comment before the first file.
func sections(text string) map[string]string {
	out, name := map[string]string{}, ""
	for line := range strings.Lines(text) {
		if n, ok := strings.CutPrefix(line, "-- "); ok {
			name = strings.TrimSuffix(strings.TrimSpace(n), " --")
		} else {
			out[name] += line
		}
	}
	delete(out, "")
	return out
}

type stage struct {
	*world
	peers map[string]*peer
	roles map[string]string
}

func play(t *testing.T, script string) {
	s := &stage{newWorld(t, Config{Limits: Limits{Subscriptions: 8}}, hub.Config{}), map[string]*peer{},
		map[string]string{}}
	for n, line := range strings.Split(script, "\n") {
		if line = strings.TrimSpace(line); line == "" || line[0] == '#' {
			continue
		}
		if err := s.step(line); err != nil {
			t.Fatalf("line %d: %s\n%v", n+1, line, err)
		}
	}
}

func (s *stage) step(line string) error {
	who, rest, _ := strings.Cut(line, " ")
	switch {
	case who == "host":
		return s.act(strings.Fields(rest))
	case strings.HasSuffix(who, ">"):
		s.peer(who).send(rest)
	case strings.HasSuffix(who, "<"):
		b, err := s.peer(who).next()
		if err != nil {
			return err
		}
		return match(rest, b)
	case strings.HasSuffix(who, "~"):
		return s.peer(who).find(rest)
	case strings.HasSuffix(who, "!"):
		if got := s.peer(who).closed(); fmt.Sprint(int(got)) != rest {
			return fmt.Errorf("closed with %d", got)
		}
		delete(s.peers, name(who))
	case rest == "x":
		s.peer(who).ws.CloseNow()
		delete(s.peers, name(who))
	case strings.HasPrefix(rest, "= "):
		s.roles[who] = rest[2:]
	default:
		return fmt.Errorf("no such step")
	}
	return nil
}

func name(who string) string { return strings.TrimRight(who, "<>~!") }

func (s *stage) peer(who string) *peer {
	who = name(who)
	if s.peers[who] == nil {
		role := s.roles[who]
		if role == "" {
			role = "owner"
		}
		s.peers[who] = s.dial(role)
	}
	return s.peers[who]
}

// find reads until the wanted frame.
func (p *peer) find(want string) error {
	for {
		b, err := p.next()
		if err != nil {
			return err
		}
		if match(want, b) == nil {
			return nil
		}
	}
}

// act performs the host's lines of a transcript.
func (w *world) act(words []string) error {
	switch words[0] {
	case "delta": // host delta WORD…: text of the running turn
		return w.hub.Do(func(tx *hub.Tx) {
			for _, word := range words[1:] {
				tx.Apply(chatURI, &ahp.ChatDeltaAction{TurnID: "t4", PartID: "p", Content: word})
			}
		})
	case "reorder": // an action that 0.9 does not know
		return w.hub.Do(func(tx *hub.Tx) {
			tx.Apply(chatURI, &ahp.ChatMovableChangedAction{Movable: true})
		})
	case "fail": // the running turn fails
		return w.hub.Do(func(tx *hub.Tx) {
			tx.Apply(chatURI, &ahp.ChatErrorAction{TurnID: "t4", Duration: 7,
				Part: ahp.ErrorResponsePart{Error: ahp.ErrorInfo{ErrorType: "e", Message: "no"}}})
		})
	case "close": // host close URI
		return w.hub.Do(func(tx *hub.Tx) { tx.Close(words[1]) })
	}
	return fmt.Errorf("the host knows no %q", words[0])
}

func match(want string, got []byte) error {
	var w, g any
	if err := decode([]byte(want), &w); err != nil {
		return fmt.Errorf("the expectation: %w", err)
	}
	if err := decode(got, &g); err != nil {
		return fmt.Errorf("%s: %w", got, err)
	}
	if at := differ(w, g, "$"); at != "" {
		return fmt.Errorf("at %s, got\n%s", at, got)
	}
	return nil
}

// decode keeps numbers as they were written.
func decode(b []byte, into *any) error {
	d := json.NewDecoder(bytes.NewReader(b))
	d.UseNumber()
	return d.Decode(into)
}

func whole(v any) bool {
	n, ok := v.(json.Number)
	return ok && !strings.ContainsAny(n.String(), ".eE")
}

// differ returns the first difference, "" for none.
func differ(want, got any, at string) string {
	switch w := want.(type) {
	case string:
		if w == "*" || w == "*whole" && whole(got) {
			return ""
		}
	case map[string]any:
		g, ok := got.(map[string]any)
		if !ok {
			return at
		}
		return differObject(w, g, at)
	case []any:
		g, ok := got.([]any)
		if !ok || len(g) != len(w) {
			return at
		}
		for i := range w {
			if d := differ(w[i], g[i], fmt.Sprintf("%s[%d]", at, i)); d != "" {
				return d
			}
		}
		return ""
	}
	if want != got {
		return at
	}
	return ""
}

func differObject(want, got map[string]any, at string) string {
	_, open := want["..."]
	for key := range got {
		if _, ok := want[key]; !ok && !open {
			return at + "." + key
		}
	}
	for key, w := range want {
		g, ok := got[key]
		if key == "..." {
			continue
		}
		if !ok {
			return at + "." + key
		}
		if d := differ(w, g, at+"."+key); d != "" {
			return d
		}
	}
	return ""
}
