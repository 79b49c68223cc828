package live

// Regions holds the HTML of each element on open pages, by the element's id. Changed filters rendered
// elements, so that only those with different HTML are sent.
type Regions map[string]string

// Changed returns the patches whose HTML differs from that on the pages, and records it. Each patch
// replaces an element, with an id of its own.
func (r Regions) Changed(patches ...Patch) (changed []Patch) {
	for _, p := range patches {
		if html, known := r[p.ID]; !known || html != p.HTML {
			r[p.ID] = p.HTML
			changed = append(changed, p)
		}
	}
	return changed
}

// Item is one element of a list and the patch that adds it.
type Item struct {
	ID    string
	Patch Patch
}

// ChangedItems returns patches that remove the elements that left the list, and add or replace those
// that are new or changed. The Regions contain only this list.
func (r Regions) ChangedItems(items ...Item) (changed []Patch) {
	listed := make(map[string]bool, len(items))
	for _, it := range items {
		listed[it.ID] = true
	}
	for id := range r {
		if !listed[id] {
			delete(r, id)
			changed = append(changed, Remove(id))
		}
	}
	for _, it := range items {
		if html, known := r[it.ID]; !known || html != it.Patch.HTML {
			r[it.ID] = it.Patch.HTML
			changed = append(changed, it.Patch)
		}
	}
	return changed
}

// Redraw implements most of a Room that renders all of its regions after every change. Embed it and set
// Draw; the room adds Channels, and Watch if it needs it.
type Redraw struct {
	// Draw returns patches that replace every region of the room.
	Draw func(States) []Patch

	regions Regions
}

// Opened records the HTML of the first page.
func (r *Redraw) Opened(s States) {
	r.regions = nil
	r.Changed(s, News{})
}

// Whole renders every region.
func (r *Redraw) Whole(s States) []Patch { return r.Draw(s) }

// Changed returns patches of the regions whose HTML has changed.
func (r *Redraw) Changed(s States, _ News) []Patch {
	if r.regions == nil {
		r.regions = Regions{}
	}
	return r.regions.Changed(r.Draw(s)...)
}
