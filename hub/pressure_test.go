package hub_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/ahphub/ahphub/hub"
	"github.com/ahphub/ahphub/hub/ahp"
)

// Connections stall on terminals of their own, each below its own limit and by different amounts,
// while another connection reads all of them.
func TestSlowestConnectionsAreClosedWhenQueuesHoldTooMuch(t *testing.T) {
	const limit, terminals = 3 << 20, 6
	h := newHub(t, hub.Config{Limits: hub.Limits{QueueBytes: 2 << 20, QueuedBytes: limit}})
	var uris []string
	var stalled []*hub.Conn
	for i := range terminals {
		uri := fmt.Sprintf("ahp-terminal:/busy%d", i)
		must(t, h.Do(func(tx *hub.Tx) {
			must(t, tx.Open(hub.ChannelInfo{URI: uri, Kind: ahp.ChannelTerminal, Session: sessionURI},
				&ahp.TerminalState{Title: "sh"}))
		}))
		c := connect(t, h, fmt.Sprint("stalled", i), uri)
		next(t, c) // its snapshot: later frames stay unread
		uris, stalled = append(uris, uri), append(stalled, c)
	}
	var ended error
	first, err := h.Connect(hub.ConnConfig{Principal: "owner", ClientID: "told",
		End: func(reason error) { ended = reason }})
	must(t, err)
	subscribe(first, uris[terminals-1])
	reader := connect(t, h, "reader", uris...)
	for round := range 26 {
		for i, uri := range uris {
			if round%(terminals-i) == 0 {
				do(t, h, uri, &ahp.TerminalDataAction{Data: strings.Repeat("x", 64<<10)})
			}
		}
		next(t, reader)
		if got := h.Stats().QueuedBytes; got > limit+64<<10 {
			t.Fatalf("queues hold %d bytes, the limit is %d", got, limit)
		}
	}
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	open := func(c *hub.Conn) bool {
		_, err := c.Next(gone, nil)
		return !errors.Is(err, hub.ErrSlow)
	}
	if open(stalled[terminals-1]) || open(first) || !errors.Is(ended, hub.ErrSlow) {
		t.Error("the connection furthest behind is open, or was not told why it ends: ", ended)
	}
	if !open(stalled[0]) || !open(reader) {
		t.Error("a connection was closed that is little behind, or not at all")
	}
	for _, c := range append(stalled, first, reader) {
		c.Close(hub.ErrReplaced)
	}
	if got := h.Stats().QueuedBytes; got != 0 {
		t.Errorf("%d bytes count as queued for connections that are closed", got)
	}
}

// Many stalled connections on one chat take no more memory than one.
func TestQueuedBytesCountWhatQueuesShareOnce(t *testing.T) {
	h := newHub(t, hub.Config{Limits: hub.Limits{QueuedBytes: 1 << 20}})
	var all []*hub.Conn
	for i := range 50 {
		all = append(all, connect(t, h, fmt.Sprint("c", i), chatURI))
	}
	for range 10 {
		do(t, h, chatURI, delta(strings.Repeat("x", 64<<10)))
	}
	if got := h.Stats().QueuedBytes; got < 10*64<<10 || got > 11*64<<10 {
		t.Errorf("50 queues of the same 640 KiB count as %d bytes", got)
	}
	for _, c := range all {
		if got := next(t, c); len(got) < 2 {
			t.Fatal("a connection does not have what it waited for")
		}
		c.Unsubscribe(chatURI)
	}
}
