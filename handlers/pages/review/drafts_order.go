package review

import "sync"

// mostDraftTurns bounds the drafts whose order is remembered: that matters while requests are under way.
const mostDraftTurns = 4096

// draftOrder remembers the newest word on each draft. A page saves a draft while its author types, and requests
// overtake each other: a save that is late must not bring back an old text, or a draft that was discarded or published.
type draftOrder struct {
	mu     sync.Mutex
	byKey  map[string]*draftTurn
	oldest []string
}

// draftTurn is the newest word on one draft. It is locked while a request changes the draft.
type draftTurn struct {
	sync.Mutex
	page string // which page saved it
	n    int    // the number of that page's save
	gone bool
}

// of returns the order of one draft, whose key begins with its bucket.
func (o *draftOrder) of(bucket, id string) *draftTurn {
	key := bucket + "/" + id
	o.mu.Lock()
	defer o.mu.Unlock()
	if t := o.byKey[key]; t != nil {
		return t
	}
	if o.byKey == nil {
		o.byKey = map[string]*draftTurn{}
	}
	if len(o.oldest) == mostDraftTurns {
		delete(o.byKey, o.oldest[0])
		o.oldest = o.oldest[1:]
	}
	t := &draftTurn{}
	o.byKey[key], o.oldest = t, append(o.oldest, key)
	return t
}

// take reports whether a save is the newest word on its draft, and notes it. Saves of different pages have no order but
// that of their arrival.
func (t *draftTurn) take(page string, n int) bool {
	if t.gone || page != "" && t.page == page && n <= t.n {
		return false
	}
	t.page, t.n = page, n
	return true
}
