package review

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"slices"
	"time"
)

// Review is the part of a session's review that the protocol has no shape for: visitors, verdicts
// and mentions. Events change it; a value is never modified in place.
type Review struct {
	People   []Person  `json:"people,omitempty"`
	Verdicts []Verdict `json:"verdicts,omitempty"` // newest last; at most one of each person stands
	Mentions []Mention `json:"mentions,omitempty"` // unread
}

// Limits of a review. Beyond them the oldest unneeded entry is dropped.
const (
	MaxPeople   = 200
	MaxVerdicts = 100
	MaxMentions = 200
	MaxSummary  = 8 << 10 // bytes of a verdict's text
)

// Kind of a verdict.
type Kind string

// The kinds.
const (
	Approve        Kind = "approve"
	RequestChanges Kind = "changes"
	Comment        Kind = "comment"
)

// End is the reason a verdict no longer stands.
type End string

// The ends.
const (
	Withdrawn End = "withdrawn" // by the host: the approved changes changed
	Dismissed End = "dismissed" // by its author or the owner
	Replaced  End = "replaced"  // by a newer one of the same person
)

// Verdict is a person's opinion of a session's changes.
type Verdict struct {
	By      Person    `json:"by"`
	Kind    Kind      `json:"kind"`
	Summary string    `json:"summary,omitempty"` // Markdown
	At      time.Time `json:"at"`
	Digest  string    `json:"digest"` // of the changes it is about

	Overtaken bool      `json:"overtaken,omitempty"` // the changes have changed since; the verdict still stands
	End       End       `json:"end,omitempty"`
	EndAt     time.Time `json:"endAt,omitzero"`
	EndBy     *Person   `json:"endBy,omitempty"`
	Changed   []string  `json:"changed,omitempty"` // files, when a change ended it
	More      int       `json:"more,omitempty"`    // further files
}

// Stands reports whether the verdict has not ended.
func (v *Verdict) Stands() bool { return v.End == "" }

// Mention records that a person was mentioned in a thread.
type Mention struct {
	Who    string    `json:"who"` // principal
	By     Person    `json:"by"`
	Thread string    `json:"thread"`
	At     time.Time `json:"at"`
}

// Standing returns the verdicts that stand, oldest first.
func (d Review) Standing() (out []Verdict) {
	for _, v := range d.Verdicts {
		if v.Stands() {
			out = append(out, v)
		}
	}
	return out
}

// Of returns the standing verdict of a person.
func (d Review) Of(who string) (Verdict, bool) {
	for _, v := range d.Verdicts {
		if v.Stands() && v.By.ID == who {
			return v, true
		}
	}
	return Verdict{}, false
}

// MentionsOf returns a person's unread mentions.
func (d Review) MentionsOf(who string) (out []Mention) {
	for _, m := range d.Mentions {
		if m.Who == who {
			out = append(out, m)
		}
	}
	return out
}

// Event is a change of a review.
type Event interface{ apply(*Review) }

// After returns the review after an event.
func (d Review) After(e Event) Review {
	d.People, d.Verdicts, d.Mentions = slices.Clone(d.People), slices.Clone(d.Verdicts), slices.Clone(d.Mentions)
	e.apply(&d)
	return d
}

// Joined records a visitor, or their new name.
type Joined struct{ Person }

func (e Joined) apply(d *Review) {
	i := slices.IndexFunc(d.People, func(p Person) bool { return p.ID == e.ID })
	if i >= 0 {
		d.People[i] = e.Person
		return
	}
	d.People = last(append(d.People, e.Person), MaxPeople)
}

// Given records a verdict. It replaces an earlier one of the same person.
type Given struct{ Verdict }

func (e Given) apply(d *Review) {
	d.end(e.By.ID, Verdict{End: Replaced, EndAt: e.At, EndBy: &e.By})
	d.Verdicts = last(append(d.Verdicts, e.Verdict), MaxVerdicts)
}

// Ended records that a verdict no longer stands.
type Ended struct {
	Who     string // principal who gave it
	Digest  string // of the verdict; "" for any standing one
	Why     End
	By      *Person // nil: the host
	At      time.Time
	Changed []string
}

const maxChanged = 20 // files listed with a withdrawn verdict

func (e Ended) apply(d *Review) {
	n := min(len(e.Changed), maxChanged)
	d.end(e.Who, Verdict{Digest: e.Digest, End: e.Why, EndAt: e.At, EndBy: e.By, Changed: e.Changed[:n:n],
		More: len(e.Changed) - n})
}

func (d *Review) end(who string, as Verdict) {
	for i := range d.Verdicts {
		if v := &d.Verdicts[i]; v.Stands() && v.By.ID == who && (as.Digest == "" || as.Digest == v.Digest) {
			v.End, v.EndAt, v.EndBy, v.Changed, v.More = as.End, as.EndAt, as.EndBy, as.Changed, as.More
		}
	}
}

// Overtaken records that files changed after a person requested changes.
type Overtaken struct{ Who, Digest string }

func (e Overtaken) apply(d *Review) {
	for i := range d.Verdicts {
		if v := &d.Verdicts[i]; v.Stands() && v.By.ID == e.Who && v.Digest == e.Digest {
			v.Overtaken = true
		}
	}
}

// Called records a mention, once for each thread.
type Called struct{ Mention }

func (e Called) apply(d *Review) {
	d.Mentions = slices.DeleteFunc(d.Mentions, func(m Mention) bool { return m.Who == e.Who && m.Thread == e.Thread })
	d.Mentions = last(append(d.Mentions, e.Mention), MaxMentions)
}

// Read records that a person read threads. A removed thread counts as read by all.
type Read struct {
	Who     string // "" for all
	Threads []string
}

func (e Read) apply(d *Review) {
	d.Mentions = slices.DeleteFunc(d.Mentions, func(m Mention) bool {
		return (e.Who == "" || m.Who == e.Who) && slices.Contains(e.Threads, m.Thread)
	})
}

func last[T any](list []T, n int) []T { return list[max(0, len(list)-n):] }

// Digest returns one hash of the versions of all files.
func Digest(files map[string]string) string {
	h := sha256.New()
	for _, name := range slices.Sorted(maps.Keys(files)) {
		fmt.Fprintf(h, "%q %q\n", name, files[name])
	}
	return hex.EncodeToString(h.Sum(nil)[:16])
}

// Differences returns the names whose versions differ or that only one side has, sorted.
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
