package review

import "sync"

// mostDraftTurns bounds the remembered drafts: their order matters only while requests are in progress.
const mostDraftTurns = 4096

// draftOrder remembers the newest save of each draft. A page saves a draft while its author types, and requests
// can overtake each other: a late save must not restore an old text, or a discarded or published draft.
type draftOrder struct {
	mu     sync.Mutex
	byKey  map[string]*draftTurn
	oldest []string
}

// draftTurn is the newest save of one draft. It is locked while a request changes the draft.
type draftTurn struct {
	sync.Mutex
	page string // page that saved it
	n    int    // number of the save on that page
	gone bool
}

// of returns the draftTurn of a draft, whose key begins with its bucket.
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

// take records a save and reports whether it is the newest. Saves of different pages are ordered by arrival.
func (t *draftTurn) take(page string, n int) bool {
	if t.gone || page != "" && t.page == page && n <= t.n {
		return false
	}
	t.page, t.n = page, n
	return true
}
