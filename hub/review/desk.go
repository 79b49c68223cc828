package review

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"slices"
	"time"
)

// Desk is what people did around a session that the protocol has no shape for: who was here, what they think of the
// changes, and who was called. It changes by events alone and is never changed in place.
type Desk struct {
	People   []Person  `json:"people,omitempty"`
	Verdicts []Verdict `json:"verdicts,omitempty"` // newest last; of each person at most one stands
	Mentions []Mention `json:"mentions,omitempty"` // not yet read
}

// Limits of a desk: past them the oldest that nobody needs goes.
const (
	MostPeople   = 200
	MostVerdicts = 100
	MostMentions = 200
	MostSummary  = 8 << 10 // bytes of a verdict's text
)

// Kind of a verdict.
type Kind string

// The kinds.
const (
	Approve        Kind = "approve"
	RequestChanges Kind = "changes"
	Comment        Kind = "comment"
)

// End says why a verdict no longer stands.
type End string

// The ends.
const (
	Withdrawn End = "withdrawn" // by the host: what was approved changed
	Dismissed End = "dismissed" // by its author or the owner
	Replaced  End = "replaced"  // by a newer one of the same person
)

// Verdict is what somebody thinks of a session's changes.
type Verdict struct {
	By      Person    `json:"by"`
	Kind    Kind      `json:"kind"`
	Summary string    `json:"summary,omitempty"` // Markdown
	At      time.Time `json:"at"`
	Digest  string    `json:"digest"` // of the changes it is about

	Overtaken bool      `json:"overtaken,omitempty"` // something changed since; it stands all the same
	End       End       `json:"end,omitempty"`
	EndAt     time.Time `json:"endAt,omitzero"`
	EndBy     *Person   `json:"endBy,omitempty"`
	Changed   []string  `json:"changed,omitempty"` // files, when that is why it ended
	More      int       `json:"more,omitempty"`    // further files
}

// Stands reports whether it is still its author's.
func (v *Verdict) Stands() bool { return v.End == "" }

// Mention says that somebody was called in a thread.
type Mention struct {
	Who    string    `json:"who"` // principal
	By     Person    `json:"by"`
	Thread string    `json:"thread"`
	At     time.Time `json:"at"`
}

// Standing are the verdicts that stand, oldest first.
func (d Desk) Standing() (out []Verdict) {
	for _, v := range d.Verdicts {
		if v.Stands() {
			out = append(out, v)
		}
	}
	return out
}

// Of is the standing verdict of a person.
func (d Desk) Of(who string) (Verdict, bool) {
	for _, v := range d.Verdicts {
		if v.Stands() && v.By.ID == who {
			return v, true
		}
	}
	return Verdict{}, false
}

// MentionsOf are the threads somebody was called in and has not read.
func (d Desk) MentionsOf(who string) (out []Mention) {
	for _, m := range d.Mentions {
		if m.Who == who {
			out = append(out, m)
		}
	}
	return out
}

// Event is something that happened at a desk.
type Event interface{ apply(*Desk) }

// After is the desk once an event happened.
func (d Desk) After(e Event) Desk {
	d.People, d.Verdicts, d.Mentions = slices.Clone(d.People), slices.Clone(d.Verdicts), slices.Clone(d.Mentions)
	e.apply(&d)
	return d
}

// Joined says that somebody came, or has another name now.
type Joined struct{ Person }

func (e Joined) apply(d *Desk) {
	i := slices.IndexFunc(d.People, func(p Person) bool { return p.ID == e.ID })
	if i >= 0 {
		d.People[i] = e.Person
		return
	}
	d.People = last(append(d.People, e.Person), MostPeople)
}

// Given says that somebody gave a verdict; it takes the place of an earlier one.
type Given struct{ Verdict }

func (e Given) apply(d *Desk) {
	d.end(e.By.ID, Verdict{End: Replaced, EndAt: e.At, EndBy: &e.By})
	d.Verdicts = last(append(d.Verdicts, e.Verdict), MostVerdicts)
}

// Ended says that a verdict no longer stands.
type Ended struct {
	Who     string // principal whose verdict it was
	Digest  string // of the verdict that is meant; "" for whichever stands
	Why     End
	By      *Person // nil: the host
	At      time.Time
	Changed []string
}

const mostChanged = 20 // files a withdrawn verdict lists

func (e Ended) apply(d *Desk) {
	n := min(len(e.Changed), mostChanged)
	d.end(e.Who, Verdict{Digest: e.Digest, End: e.Why, EndAt: e.At, EndBy: e.By, Changed: e.Changed[:n:n], More: len(e.Changed) - n})
}

func (d *Desk) end(who string, as Verdict) {
	for i := range d.Verdicts {
		if v := &d.Verdicts[i]; v.Stands() && v.By.ID == who && (as.Digest == "" || as.Digest == v.Digest) {
			v.End, v.EndAt, v.EndBy, v.Changed, v.More = as.End, as.EndAt, as.EndBy, as.Changed, as.More
		}
	}
}

// Overtaken says that something changed since somebody asked for changes.
type Overtaken struct{ Who, Digest string }

func (e Overtaken) apply(d *Desk) {
	for i := range d.Verdicts {
		if v := &d.Verdicts[i]; v.Stands() && v.By.ID == e.Who && v.Digest == e.Digest {
			v.Overtaken = true
		}
	}
}

// Called says that somebody was mentioned; once a thread is enough.
type Called struct{ Mention }

func (e Called) apply(d *Desk) {
	d.Mentions = slices.DeleteFunc(d.Mentions, func(m Mention) bool { return m.Who == e.Who && m.Thread == e.Thread })
	d.Mentions = last(append(d.Mentions, e.Mention), MostMentions)
}

// Read says that somebody read threads; one that is gone is read by all.
type Read struct {
	Who     string // "" for everybody
	Threads []string
}

func (e Read) apply(d *Desk) {
	d.Mentions = slices.DeleteFunc(d.Mentions, func(m Mention) bool {
		return (e.Who == "" || m.Who == e.Who) && slices.Contains(e.Threads, m.Thread)
	})
}

func last[T any](list []T, n int) []T { return list[max(0, len(list)-n):] }

// Digest names the versions of all files at once.
func Digest(files map[string]string) string {
	h := sha256.New()
	for _, name := range slices.Sorted(maps.Keys(files)) {
		fmt.Fprintf(h, "%q %q\n", name, files[name])
	}
	return hex.EncodeToString(h.Sum(nil)[:16])
}

// Differences are the files whose version is another one, or that are in one of the two alone, sorted.
func Differences(was, now map[string]string) (out []string) {
	for name, version := range now {
		if was[name] != version {
			out = append(out, name)
		}
	}
	for name := range was {
		if _, there := now[name]; !there {
			out = append(out, name)
		}
	}
	slices.Sort(out)
	return out
}
