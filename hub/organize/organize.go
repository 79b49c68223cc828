package organize

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"maps"
	"slices"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"

	"github.com/ahphub/ahphub/hub/ahp"
)

const (
	prefsBucket = "organize-people"
	labelBucket = "organize-labels"

	MostPins    = 200 // pinned sessions of a person; above it, the oldest pin is removed
	MostFilters = 20  // saved filters of a person
	MostLabels  = 10  // labels of a session
	longest     = 40  // characters of a label or of a filter's name
	longestFind = 200 // characters of a filter
)

// Store keeps documents; each write returns once it is durable.
type Store interface {
	Put(ctx context.Context, bucket, key string, value []byte) error
	Delete(ctx context.Context, bucket, key string) error
	Each(ctx context.Context, bucket string, visit func(key string, value []byte) error) error
}

// Invalid describes an invalid input to the person who entered it.
type Invalid string

// Error returns the description.
func (e Invalid) Error() string { return string(e) }

func invalid(format string, args ...any) error { return Invalid(fmt.Sprintf(format, args...)) }

// Filter is a named search of the inbox.
type Filter struct {
	Name string `json:"name"`
	Find string `json:"find"`
}

// Prefs holds a person's pins and filters.
type Prefs struct {
	Pins    []ahp.URI `json:"pins,omitempty"` // sessions, newest last
	Filters []Filter  `json:"filters,omitempty"`
}

// Shelf holds the pins, filters and labels in memory and journals changes.
type Shelf struct {
	store   Store
	writing sync.Mutex // held from reading to writing

	mu       sync.Mutex
	prefs    map[string]Prefs // by person
	labels   map[ahp.URI][]string
	watchers map[chan struct{}]struct{}
}

// Open reads the stored documents; without a store, changes stay in memory. An unreadable document
// counts as empty.
func Open(ctx context.Context, store Store) (*Shelf, error) {
	s := &Shelf{store: store, prefs: map[string]Prefs{}, labels: map[ahp.URI][]string{},
		watchers: map[chan struct{}]struct{}{}}
	if store == nil {
		return s, nil
	}
	return s, errors.Join(
		store.Each(ctx, prefsBucket, func(key string, value []byte) error {
			var p Prefs
			if json.Unmarshal(value, &p) == nil {
				s.prefs[key] = p
			}
			return nil
		}),
		store.Each(ctx, labelBucket, func(key string, value []byte) error {
			var list []string
			if json.Unmarshal(value, &list) == nil && len(list) > 0 {
				s.labels[key] = list
			}
			return nil
		}))
}

// Of returns a copy of a person's Prefs.
func (s *Shelf) Of(person string) Prefs {
	s.mu.Lock()
	defer s.mu.Unlock()
	p := s.prefs[person]
	return Prefs{Pins: slices.Clone(p.Pins), Filters: slices.Clone(p.Filters)}
}

// Labels returns the labels of a session, in order.
func (s *Shelf) Labels(session ahp.URI) []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.labels[session])
}

// Watch ticks after every change; pending ticks merge. Call cancel when done.
func (s *Shelf) Watch() (changed <-chan struct{}, cancel func()) {
	ch := make(chan struct{}, 1)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.watchers[ch] = struct{}{}
	return ch, func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		delete(s.watchers, ch)
	}
}

// notify wakes watchers; mu is held.
func (s *Shelf) notify() {
	for ch := range s.watchers {
		select {
		case ch <- struct{}{}:
		default: // a tick is pending
		}
	}
}

// Pin pins a session for a person, or unpins it.
func (s *Shelf) Pin(ctx context.Context, person string, session ahp.URI, on bool) error {
	return s.change(ctx, person, func(p *Prefs) error {
		p.Pins = slices.DeleteFunc(p.Pins, func(u ahp.URI) bool { return u == session })
		if on {
			p.Pins = append(p.Pins, session)
		}
		p.Pins = p.Pins[max(0, len(p.Pins)-MostPins):]
		return nil
	})
}

// SaveFilter saves a search under a name, and replaces one of the same name.
func (s *Shelf) SaveFilter(ctx context.Context, person string, f Filter) error {
	f.Find = clean(f.Find)
	if f.Name = clean(f.Name); f.Name == "" {
		f.Name = f.Find
	}
	switch {
	case f.Find == "":
		return Invalid("enter a filter first, then save it")
	case utf8.RuneCountInString(f.Find) > longestFind:
		return invalid("the filter is too long. Use at most %d characters", longestFind)
	case utf8.RuneCountInString(f.Name) > longest:
		return invalid("the name is too long. Use at most %d characters", longest)
	}
	return s.change(ctx, person, func(p *Prefs) error {
		if i := slices.IndexFunc(p.Filters, func(x Filter) bool { return x.Name == f.Name }); i >= 0 {
			p.Filters[i] = f
			return nil
		}
		if len(p.Filters) >= MostFilters {
			return invalid("you have %d saved filters, the most there can be. Remove one first", MostFilters)
		}
		p.Filters = append(p.Filters, f)
		return nil
	})
}

// RemoveFilter removes a saved filter by name; a missing one is not an error.
func (s *Shelf) RemoveFilter(ctx context.Context, person, name string) error {
	return s.change(ctx, person, func(p *Prefs) error {
		p.Filters = slices.DeleteFunc(p.Filters, func(f Filter) bool { return f.Name == name })
		return nil
	})
}

func (s *Shelf) change(ctx context.Context, person string, change func(*Prefs) error) error {
	s.writing.Lock()
	defer s.writing.Unlock()
	p := s.Of(person)
	if err := change(&p); err != nil {
		return err
	}
	raw, err := json.Marshal(p)
	if err != nil {
		return err
	}
	if err := s.put(ctx, prefsBucket, person, raw); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.prefs[person] = p
	s.notify()
	return nil
}

// SetLabels replaces the labels of a session with a comma-separated list.
func (s *Shelf) SetLabels(ctx context.Context, session ahp.URI, text string) error {
	list, err := parseLabels(text)
	if err != nil {
		return err
	}
	var raw []byte // nil deletes
	if len(list) > 0 {
		if raw, err = json.Marshal(list); err != nil {
			return err
		}
	}
	s.writing.Lock()
	defer s.writing.Unlock()
	if err := s.put(ctx, labelBucket, session, raw); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if delete(s.labels, session); len(list) > 0 {
		s.labels[session] = list
	}
	s.notify()
	return nil
}

// Sweep deletes the data of people who left and of permanently deleted sessions; call it at
// startup.
func (s *Shelf) Sweep(ctx context.Context, left func(person string) bool, gone func(session ahp.URI) bool) error {
	var errs []error
	for who := range s.everyone() {
		if left(who) {
			errs = append(errs, s.put(ctx, prefsBucket, who, nil))
			s.mu.Lock()
			delete(s.prefs, who)
			s.mu.Unlock()
		}
	}
	for uri := range s.labeled() {
		if gone(uri) {
			errs = append(errs, s.SetLabels(ctx, uri, ""))
		}
	}
	return errors.Join(errs...)
}

func (s *Shelf) everyone() iter.Seq[string] {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Values(slices.Collect(maps.Keys(s.prefs)))
}

func (s *Shelf) labeled() iter.Seq[ahp.URI] {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Values(slices.Collect(maps.Keys(s.labels)))
}

// put writes a document; nil deletes it.
func (s *Shelf) put(ctx context.Context, bucket, key string, value []byte) error {
	switch {
	case s.store == nil:
		return nil
	case value == nil:
		return s.store.Delete(ctx, bucket, key)
	}
	return s.store.Put(ctx, bucket, key, value)
}

// parseLabels parses comma-separated labels, and drops duplicates regardless of case.
func parseLabels(text string) (list []string, err error) {
	for one := range strings.SplitSeq(text, ",") {
		one = strings.ReplaceAll(clean(one), `"`, "")
		if one == "" || slices.ContainsFunc(list, func(x string) bool { return strings.EqualFold(x, one) }) {
			continue
		}
		if utf8.RuneCountInString(one) > longest {
			return nil, invalid("a label is too long. Use at most %d characters", longest)
		}
		list = append(list, one)
	}
	if len(list) > MostLabels {
		return nil, invalid("these are too many labels. A session can have %d", MostLabels)
	}
	return list, nil
}

// clean returns a text as one line without control characters.
func clean(s string) string {
	s = strings.Map(func(r rune) rune {
		if unicode.IsControl(r) {
			return ' '
		}
		return r
	}, strings.ToValidUTF8(s, ""))
	return strings.Join(strings.Fields(s), " ")
}
