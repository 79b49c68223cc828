package resource

import (
	"slices"

	"github.com/ahphub/ahphub/hub/ahp"
)

const (
	mostPending = 10_000 // of one burst; beyond that, one change of the watched directory is reported
	mostBatch   = 1000   // of one action
)

// burst collects changes, one for each path, until they are reported.
type burst struct {
	watch *Watch
	order []string
	kinds map[string]ahp.ResourceChangeType // "": created and deleted again
	over  bool
}

func newBurst(w *Watch) *burst { return &burst{watch: w, kinds: map[string]ahp.ResourceChangeType{}} }

func (b *burst) empty() bool { return len(b.order) == 0 && !b.over }

func (b *burst) overflow() {
	b.over, b.order = true, nil
	clear(b.kinds)
}

func (b *burst) add(path string, kind ahp.ResourceChangeType) {
	rel := b.watch.rel(path)
	if b.over || !b.watch.globs.match(rel) {
		return
	}
	before, known := b.kinds[rel]
	if !known {
		if len(b.order) == mostPending {
			b.overflow()
			return
		}
		b.order = append(b.order, rel)
		b.kinds[rel] = kind
		return
	}
	b.kinds[rel] = mergeChanges(before, kind)
}

// mergeChanges combines two changes of a path.
func mergeChanges(before, after ahp.ResourceChangeType) ahp.ResourceChangeType {
	const added, updated, deleted = ahp.ResourceChangeTypeAdded, ahp.ResourceChangeTypeUpdated,
		ahp.ResourceChangeTypeDeleted
	switch {
	case before == added && after == deleted:
		return ""
	case before == added, before == "" && after == updated:
		return added
	case before == deleted && after == added:
		return updated
	case before == "" && after == deleted:
		return ""
	}
	return after
}

// drain returns the changes, in the order in which they began, and empties the burst.
func (b *burst) drain() (batches [][]ahp.ResourceChange) {
	var all []ahp.ResourceChange
	if b.over {
		all = append(all, ahp.ResourceChange{URI: b.watch.uri, Type: ahp.ResourceChangeTypeUpdated})
	}
	for _, rel := range b.order {
		if kind := b.kinds[rel]; kind != "" {
			all = append(all, ahp.ResourceChange{URI: b.watch.uriOf(rel), Type: kind})
		}
	}
	b.over, b.order = false, nil
	clear(b.kinds)
	for batch := range slices.Chunk(all, mostBatch) {
		batches = append(batches, batch)
	}
	return batches
}

func (w *Watch) uriOf(rel string) ahp.URI {
	if rel == "." {
		return w.uri
	}
	path, _ := Path(w.uri) // made from a path
	return URI(path + "/" + rel)
}
