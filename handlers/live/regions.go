package live

// Regions is the HTML that open pages have of each element, by the element's id. What is drawn anew goes through
// Changed, so that only what looks different is sent.
type Regions map[string]string

// Changed returns the patches whose HTML differs from what the pages have, and notes it. The patches replace
// elements, each with an id of its own.
func (r Regions) Changed(patches ...Patch) (changed []Patch) {
	for _, p := range patches {
		if html, known := r[p.ID]; !known || html != p.HTML {
			r[p.ID] = p.HTML
			changed = append(changed, p)
		}
	}
	return changed
}

// Item is one element of a list and the patch that puts it there.
type Item struct {
	ID    string
	Patch Patch
}

// ChangedItems returns patches that remove the elements which are no longer in the list and put in those that are new
// or look different. The Regions hold nothing but this list.
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

// Redraw is most of a Room that draws all of its regions whenever something happens. Embed it and set Draw; the room
// adds Channels, and Watch if it needs one.
type Redraw struct {
	// Draw returns patches that replace every region of the room.
	Draw func(States) []Patch

	regions Regions
}

// Opened notes what the first page has.
func (r *Redraw) Opened(s States) {
	r.regions = nil
	r.Changed(s, News{})
}

// Whole draws every region.
func (r *Redraw) Whole(s States) []Patch { return r.Draw(s) }

// Changed returns the regions that look different now.
func (r *Redraw) Changed(s States, _ News) []Patch {
	if r.regions == nil {
		r.regions = Regions{}
	}
	return r.regions.Changed(r.Draw(s)...)
}
