package notify

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"
	_ "time/tzdata" // time zones, wherever the program runs

	"github.com/ahphub/ahphub/hub/ahp"
	"github.com/ahphub/ahphub/hub/texts"
)

const (
	prefsBucket = "notify-prefs"
	maxMuted    = 500 // muted sessions of a person; the oldest is unmuted
)

// Prefs are a person's choices. The zero value is the default.
type Prefs struct {
	On     map[Channel][]Kind `json:"on,omitempty"` // a missing channel has its defaults
	Paused bool               `json:"paused,omitempty"`
	Muted  []ahp.URI          `json:"muted,omitempty"` // sessions, newest last
	Mail   Mailbox            `json:"mail,omitzero"`
}

// Rhythm is how mail is gathered.
type Rhythm string

// The rhythms.
const (
	AtOnce Rhythm = "" // one mail for everything within seconds
	Hourly Rhythm = "hourly"
	Daily  Rhythm = "daily"
)

// Mailbox is a person's mail address. An unverified address gets nothing but codes.
type Mailbox struct {
	Address  string `json:"address,omitempty"`
	Verified bool   `json:"verified,omitempty"`
	Rhythm   Rhythm `json:"rhythm,omitempty"`
	Minute   int    `json:"minute,omitempty"` // of the day, for Daily
	Zone     string `json:"zone,omitempty"`   // as in Europe/Berlin; "" is UTC

	Code  string    `json:"code,omitempty"` // its SHA-256
	Until time.Time `json:"until,omitzero"` // expiry of the code
	Tries int       `json:"tries,omitempty"`
	Sent  []string  `json:"sent,omitempty"` // times of the codes sent in the last hour, RFC 3339
}

// Wants reports whether a kind is enabled for a channel.
func (p *Prefs) Wants(c Channel, k Kind) bool {
	on, chosen := p.On[c]
	if !chosen {
		on = defaults[c]
	}
	return slices.Contains(on, k)
}

// Mutes reports whether a session is muted.
func (p *Prefs) Mutes(session ahp.URI) bool { return slices.Contains(p.Muted, session) }

// Hears reports whether the person wants a notice through a channel.
func (p *Prefs) Hears(c Channel, x *Notice) bool {
	return !p.Paused && !p.Mutes(x.uri()) && p.Wants(c, x.Kind)
}

// Mute mutes a session or unmutes it.
func (p *Prefs) Mute(session ahp.URI, off bool) {
	p.Muted = slices.DeleteFunc(p.Muted, func(u ahp.URI) bool { return u == session })
	if off {
		p.Muted = append(p.Muted, session)
	}
	p.Muted = p.Muted[max(0, len(p.Muted)-maxMuted):]
}

// SetRhythm parses a form's mail schedule; at is HH:MM.
func (m *Mailbox) SetRhythm(r Rhythm, at, zone string) error {
	if r != AtOnce && r != Hourly && r != Daily {
		return errors.New("choose when to send email: immediately, hourly or daily")
	}
	if _, err := time.LoadLocation(zone); err != nil || strings.EqualFold(zone, "local") || len(zone) > 60 {
		return fmt.Errorf("%q is not a time zone. Use a name such as Europe/Berlin or UTC",
			texts.ElideRunes(clean(zone), 60))
	}
	if r == Daily {
		t, err := time.Parse("15:04", at)
		if err != nil {
			return errors.New("enter a time of day such as 08:30")
		}
		m.Minute = t.Hour()*60 + t.Minute()
	}
	m.Rhythm, m.Zone = r, zone
	return nil
}

// At returns the time of the day as a form shows it.
func (m *Mailbox) At() string { return fmt.Sprintf("%02d:%02d", m.Minute/60, m.Minute%60) }

// gather is how long mail waits for more notices.
const gather = 2 * time.Second

// due returns when to mail a notice that arrived at the given time.
func (m *Mailbox) due(came time.Time) time.Time {
	zone, err := time.LoadLocation(m.Zone)
	if err != nil {
		zone = time.UTC
	}
	local := came.In(zone)
	switch m.Rhythm {
	case Hourly: // the local hour: some zones are offset by half an hour
		return local.Add(-time.Duration(local.Minute())*time.Minute - time.Duration(
			local.Second())*time.Second - time.Duration(local.Nanosecond())).Add(time.Hour)
	case Daily:
		at := time.Date(local.Year(), local.Month(), local.Day(), m.Minute/60, m.Minute%60, 0, 0, zone)
		if !at.After(came) {
			at = time.Date(local.Year(), local.Month(), local.Day()+1, m.Minute/60, m.Minute%60, 0, 0, zone)
		}
		return at
	}
	return came.Add(gather)
}

// choices holds every person's Prefs in memory; journaled changes are applied to that copy.
type choices struct {
	writing sync.Mutex // held from reading to writing

	mu    sync.Mutex
	byWho map[string]choice
}

// choice is a person's Prefs, or why they cannot be read.
type choice struct {
	prefs Prefs
	err   error
}

// apply applies the record of a person's choices; nil deletes them. An unreadable record affects
// only that person.
func (c *choices) apply(who string, value []byte) error {
	var one choice
	if value != nil {
		if err := json.Unmarshal(value, &one.prefs); err != nil {
			one = choice{err: fmt.Errorf("cannot read the notification settings of %s: %w", who, err)}
		}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if value == nil {
		delete(c.byWho, who)
		return nil
	}
	c.byWho[who] = one
	return nil
}

func (c *choices) get(who string) (Prefs, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	one := c.byWho[who]
	return one.prefs.clone(), one.err
}

func (c *choices) people() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Sorted(maps.Keys(c.byWho))
}

// clone returns a copy that shares nothing with p.
func (p *Prefs) clone() Prefs {
	out := *p
	out.On = maps.Clone(p.On)
	for c, kinds := range out.On {
		out.On[c] = slices.Clone(kinds)
	}
	out.Muted, out.Mail.Sent = slices.Clone(p.Muted), slices.Clone(p.Mail.Sent)
	return out
}

// Prefs returns a copy of a person's choices.
func (n *Notifier) Prefs(who string) (Prefs, error) { return n.prefs.get(who) }

// Change changes a person's choices. After an error from change, they are unchanged.
func (n *Notifier) Change(ctx context.Context, who string, change func(*Prefs) error) error {
	n.prefs.writing.Lock()
	defer n.prefs.writing.Unlock()
	p, err := n.Prefs(who)
	if err == nil {
		err = change(&p)
	}
	if err != nil {
		return err
	}
	raw, err := json.Marshal(p)
	if err != nil {
		return err
	}
	if err := n.cfg.Store.Put(ctx, prefsBucket, who, raw); err != nil {
		return err
	}
	return n.prefs.apply(who, raw)
}

// Sweep deletes the choices of removed accounts; call it at start.
func (n *Notifier) Sweep(ctx context.Context, gone func(who string) bool) error {
	var errs []error
	for _, who := range n.prefs.people() {
		if !gone(who) {
			continue
		}
		err := n.cfg.Store.Delete(ctx, prefsBucket, who)
		if err == nil {
			err = n.prefs.apply(who, nil)
		}
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

// Choose enables the given kinds of a channel, and disables all others.
func (p *Prefs) Choose(c Channel, on []Kind) {
	if p.On == nil {
		p.On = map[Channel][]Kind{}
	}
	p.On[c] = append([]Kind{}, on...)
}
