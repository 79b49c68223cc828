package live

import (
	"context"
	"maps"
	"strings"
	"time"

	"github.com/ahphub/ahphub/hub"
	"github.com/ahphub/ahphub/hub/access"
	"github.com/ahphub/ahphub/hub/ahp"
)

// Room is a live part of a page for one audience: it names the channels that it follows, and renders their
// changes. Its methods are called one at a time.
type Room interface {
	// Channels that the room follows; all must exist when it opens.
	Channels() []ahp.URI
	// Whole renders every region, for a page that has fallen too far behind.
	Whole(States) []Patch
	// Changed renders what the news changed. The states include the news.
	Changed(States, News) []Patch
}

// Watcher is a Room that also depends on data outside of channels, such as presence, drafts or the clock.
// Each ping, from any goroutine, leads to a call of Changed with News.Pinged. The function that Watch
// returns stops the watch.
type Watcher interface {
	Watch(ping func()) (stop func())
}

// Opener is a Room that needs the states from which the first page is rendered.
type Opener interface{ Opened(States) }

// Pacer is a Room that is rendered less often than others.
type Pacer interface{ Pace() time.Duration }

// States are the states of a room's channels, as its audience sees them.
type States map[ahp.URI]ahp.State

// Copy returns a copy of the map. The states themselves never change.
func (s States) Copy() States { return maps.Clone(s) }

// News holds what happened since the last call of Changed.
type News struct {
	Envelopes     []*hub.Envelope
	Notifications []*hub.Notification
	Pinged        bool
}

// Kind opens the rooms of one kind.
type Kind struct {
	// Open opens the room for who, from the words of its name after the first.
	Open func(ctx context.Context, who access.Principal, words []string) (Room, error)
	// Share names what the room's HTML depends on besides its audience: principals of one audience with the same
	// Share have one room together. Nil: on nothing else.
	Share func(who access.Principal) string
}

// Table holds the kinds of rooms by the first word of a room's name, as in "chat:<session>:<chat>". A name goes into
// addresses, so it is made of letters, digits, dots, dashes and colons.
type Table map[string]Kind

// find returns the kind of a room that who may follow, and the rest of the room's name.
func (t Table) find(who access.Principal, name string) (Kind, []string, error) {
	words := strings.Split(name, ":")
	k, ok := t[words[0]]
	if !ok {
		return Kind{}, nil, ErrNoRoom
	}
	return k, words[1:], access.MayFollow(who, words[0])
}

func (k Kind) share(who access.Principal) string {
	if k.Share == nil {
		return ""
	}
	return k.Share(who)
}

// PingOn pings for every tick of changed until the returned function is called, which also calls cancel and waits.
func PingOn(changed <-chan struct{}, cancel, ping func()) (stop func()) {
	return pingOn(changed, cancel, ping)
}

// PingEvery pings at an interval until the returned function is called.
func PingEvery(interval time.Duration, ping func()) (stop func()) {
	t := time.NewTicker(interval)
	return pingOn(t.C, t.Stop, ping)
}

func pingOn[T any](changed <-chan T, cancel, ping func()) (stop func()) {
	done, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		for {
			select {
			case <-changed:
				ping()
			case <-done:
				return
			}
		}
	}()
	return func() { close(done); cancel(); <-ended }
}
