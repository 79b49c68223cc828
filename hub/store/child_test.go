package store

import (
	"bufio"
	"context"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/ahphub/ahphub/hub"
	"github.com/ahphub/ahphub/hub/ahp"
)

// childEnv makes the test binary a host to be killed: "mode dir".
const childEnv = "AHPHUB_STORE_CHILD"

var kills = flag.Int("kills", 5, "how often the kill -9 tests kill the host")

// runChild writes as fast as possible and prints everything a client is shown.
func runChild(how string) {
	mode, dir, _ := strings.Cut(how, " ")
	ctx := context.Background()
	s, err := Open(ctx, Config{Dir: dir, WindowBytes: 20_000, Log: slog.New(slog.DiscardHandler)})
	exitIf(err)
	t := &testing.B{} // only for its fatal calls
	h := boot(t, s)
	go func() { exitIf(s.Run(ctx, h)) }()
	c, err := h.Connect(hub.ConnConfig{Principal: "p", ClientID: "c"})
	exitIf(err)
	c.Subscribe("token", hub.Subscription{URI: chatURI}, hub.Subscription{URI: termURI})
	for w := range 4 {
		go produce(h, mode, w)
	}
	if mode == "load" {
		go putDocs(ctx, s.Documents(h))
	}
	for {
		items, err := c.Next(ctx, nil)
		exitIf(err)
		var out strings.Builder
		for _, it := range items {
			if it.Env == nil {
				continue
			}
			text := ""
			if d, ok := it.Env.Action.(*ahp.ChatDeltaAction); ok {
				text = d.Content
			}
			fmt.Fprintf(&out, "shown %d %s\n", it.Env.Seq, text)
		}
		_, err = io.WriteString(os.Stdout, out.String())
		exitIf(err)
	}
}

func produce(h *hub.Hub, mode string, writer int) {
	load := time.NewTicker(200 * time.Microsecond)
	for i := 0; ; i++ {
		<-load.C
		err := h.Do(func(tx *hub.Tx) {
			if mode == "terminal" {
				tx.Apply(termURI, &ahp.TerminalDataAction{Data: "x"})
				return
			}
			tx.Apply(chatURI, delta(fmt.Sprintf("%d.%d,", writer, i)))
		})
		exitIf(err)
	}
}

func putDocs(ctx context.Context, docs *Documents) {
	for i := 0; ; i++ {
		key := fmt.Sprintf("%d-%d", os.Getpid(), i)
		exitIf(docs.Put(ctx, "doc", key, []byte("v")))
		_, err := fmt.Printf("put %s\n", key)
		exitIf(err)
	}
}

func exitIf(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// killed runs a child in a directory, kills it after a random number of lines and returns its
// output.
func killed(t *testing.T, mode, dir string) (lines []string) {
	t.Helper()
	exe, err := os.Executable()
	must(t, err)
	cmd := exec.Command(exe)
	cmd.Env = append(os.Environ(), childEnv+"="+mode+" "+dir)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	must(t, err)
	must(t, cmd.Start())
	after := 100 + rand.IntN(1500)
	in := bufio.NewReader(out)
	for {
		line, err := in.ReadString('\n')
		if err != nil {
			break // an incomplete line does not count as shown
		}
		lines = append(lines, strings.TrimSuffix(line, "\n"))
		if len(lines) == after {
			must(t, cmd.Process.Kill())
		}
	}
	if err := cmd.Wait(); len(lines) < after {
		t.Fatalf("the child ended by itself: %v", err)
	}
	return lines
}

// Promise 3: anything shown survives kill -9. Promise 4: serverSeq never decreases.
func TestKillLosesNothingShown(t *testing.T) {
	dir, before, last := t.TempDir(), "", int64(0)
	for range *kills {
		var shown strings.Builder
		var docs []string
		for _, line := range killed(t, "load", dir) {
			kind, rest, _ := strings.Cut(line, " ")
			if kind == "put" {
				docs = append(docs, rest)
				continue
			}
			seq, text, _ := strings.Cut(rest, " ")
			last = higher(t, last, seq)
			shown.WriteString(text)
		}
		before = checkLife(t, dir, before, shown.String(), docs)
	}
}

// checkLife opens the data of a killed host and returns the chat's text.
func checkLife(t *testing.T, dir, before, shown string, docs []string) string {
	t.Helper()
	s := open(t, Config{Dir: dir})
	defer s.Close()
	got, err := s.Load(t.Context(), chatURI)
	must(t, err)
	part := got.State.(*ahp.ChatState).ActiveTurn.ResponseParts.At(0).Value.(*ahp.MarkdownResponsePart)
	text := part.Content.String()
	if !strings.HasPrefix(text, before+shown) {
		t.Fatalf("%d bytes were shown, the chat went from %d to %d bytes and does not hold them", len(shown),
			len(before), len(text))
	}
	for _, key := range docs {
		if _, ok, err := s.Get(t.Context(), "doc", key); !ok || err != nil {
			t.Fatalf("document %s was on disk and is gone: %v", key, err)
		}
	}
	return text
}

// Promise 4, while only a terminal prints: nothing is journaled, but no number is reused.
func TestKillRepeatsNoNumberOfATerminal(t *testing.T) {
	dir, last := t.TempDir(), int64(0)
	for range *kills {
		for _, line := range killed(t, "terminal", dir) {
			_, rest, _ := strings.Cut(line, " ")
			seq, _, _ := strings.Cut(rest, " ")
			last = higher(t, last, seq)
		}
	}
}

func higher(t *testing.T, last int64, seq string) int64 {
	t.Helper()
	n, err := strconv.ParseInt(seq, 10, 64)
	must(t, err)
	if n <= last {
		t.Fatalf("serverSeq %d was shown after %d", n, last)
	}
	return n
}
