package chat

import (
	"context"
	"path"
	"slices"

	"github.com/ahphub/ahphub/handlers/live"
	"github.com/ahphub/ahphub/handlers/pages/site"
	"github.com/ahphub/ahphub/hub"
	"github.com/ahphub/ahphub/hub/access"
	"github.com/ahphub/ahphub/hub/ahp"
	"github.com/ahphub/ahphub/templ/page"
	"github.com/ahphub/ahphub/templ/part"
)

// chatRoom renders one conversation: its turns and the composer. It compares what it rendered last with the current
// states, part by part and by pointer, since states never change in place; so it needs no rule for each
// action, and misses no change.
type chatRoom struct {
	chat    ahp.URI
	base    string // "/s/ab12/c/cd34"
	session ahp.URI
	agent   string      // name of the agent
	steers  func() bool // whether the running turn accepts steering
	machine *machine    // of the agent; nil: this server
	usage   shownUsage
	shown   []shownTurn
	status  ahp.SessionStatus
	regions live.Regions // of the composer
}

type shownTurn struct {
	id    string
	from  any // rendered *ahp.Turn or *ahp.ActiveTurn
	last  bool
	parts []shownPart
	foot  string
	plan  string
	steps int // number of parts when plan was rendered; a new plan is a new part
	part.Measured
}

type shownPart struct {
	value   ahp.ResponsePartValue
	streams bool // more text may be appended
	stream  *part.Splitter
	blocks  []shownBlock
}

// shownBlock is a block as pages have it.
type shownBlock struct {
	n    int // position in the text
	html string
}

// NewRoom opens "chat:<session>:<chat id>".
func (p *Pages) NewRoom(ctx context.Context, who access.Principal, rest []string) (live.Room, error) {
	if len(rest) != 2 {
		return nil, site.NotFound("Chat not found.")
	}
	session, ok := p.Host.SessionByShort(rest[0])
	if !ok {
		return nil, live.ErrGone
	}
	if err := p.Prepare(ctx, who, session); err != nil {
		return nil, err
	}
	s, _ := hub.StateOf[*ahp.SessionState](p.Hub, session)
	chat, ok := site.ChatByID(s, rest[1])
	if !ok {
		return nil, live.ErrGone
	}
	if err := p.Prepare(ctx, who, chat); err != nil {
		return nil, err
	}
	return &chatRoom{chat: chat, session: session, agent: p.AgentName(s.Provider), steers: func() bool { return p.Host.Steers(chat) },
		machine: p.machineOfAgent(s.Provider), base: "/s/" + rest[0] + "/c/" + rest[1]}, nil
}

// Watch pings when the agent's machine connects or disconnects.
func (c *chatRoom) Watch(ping func()) (stop func()) {
	if c.machine == nil {
		return func() {}
	}
	changed, cancel := c.machine.registry.Watch()
	return live.PingOn(changed, cancel, ping)
}

// Channels implements live.Room. The session provides directories and the title.
func (c *chatRoom) Channels() []ahp.URI { return []ahp.URI{c.chat, c.session} }

// Opened records what the first page has.
func (c *chatRoom) Opened(s live.States) {
	chat := c.state(s)
	for i, t := range turnsOf(chat, c.base, c.dir(s)) {
		c.shown = append(c.shown, show(&t, source(chat, i)))
	}
	c.status = chat.Status.Activity()
	c.regions = live.Regions{}
	c.regions.Changed(c.composer(s)...)
}

// Whole renders the newest turns and the composer's parts.
func (c *chatRoom) Whole(s live.States) []live.Patch {
	chat := c.state(s)
	turns := turnsOf(chat, c.base, c.dir(s))
	m := page.Chat{}
	m.Turns, _ = window(turns, "")
	return append([]live.Patch{live.Replace("turns", page.TurnsPart(m))}, c.composer(s)...)
}

func (c *chatRoom) state(s live.States) *ahp.ChatState {
	chat, _ := s[c.chat].(*ahp.ChatState)
	if chat == nil {
		chat = &ahp.ChatState{}
	}
	return chat
}

// composerOf returns the composer's model.
func (c *chatRoom) composerOf(s live.States) part.Composer {
	comp := composerOf(c.state(s), c.sessionOf(s), c.base)
	comp.Agent, comp.Steers = c.agent, comp.Running && c.steers()
	comp.Away, comp.WaitsFor = c.machine.away()
	return comp
}

func (c *chatRoom) sessionOf(s live.States) *ahp.SessionState {
	sess, _ := s[c.session].(*ahp.SessionState)
	return sess
}

func (c *chatRoom) dir(s live.States) string {
	if sess := c.sessionOf(s); sess != nil {
		return firstDir(c.state(s), sess)
	}
	return ""
}

func firstDir(chat *ahp.ChatState, sess *ahp.SessionState) string {
	for _, list := range [][]ahp.URI{chat.WorkingDirectories, sess.WorkingDirectories} {
		if len(list) > 0 {
			return path.Clean(part.FilePath(list[0]))
		}
	}
	return ""
}

// Changed returns patches for the differences.
func (c *chatRoom) Changed(s live.States, _ live.News) []live.Patch {
	chat := c.state(s)
	turns := turnsOf(chat, c.base, c.dir(s))
	p := c.dropped(turns)
	if len(c.shown) == 0 && len(turns) > 0 {
		p = append(p, live.Remove("no-turns"))
	}
	for i := range turns {
		if i < len(c.shown) {
			p = append(p, c.shown[i].update(&turns[i], source(chat, i))...)
			continue
		}
		bare := turns[i]
		bare.Parts = nil // parts follow as separate patches: pages apply only what fits into a frame
		p = append(p, live.Append("turns", part.TurnPart(bare)))
		c.shown = append(c.shown, show(&bare, nil))
		p = append(p, c.shown[i].update(&turns[i], source(chat, i))...)
	}
	p = append(p, c.regions.Changed(c.composer(s)...)...)
	if a := chat.Status.Activity(); a != c.status {
		p = append(p, spoken(c.status, a)...)
		c.status = a
	}
	return p
}

// dropped removes turns that no longer exist: a chat may be truncated, or lose its oldest turns.
func (c *chatRoom) dropped(turns []part.Turn) (p []live.Patch) {
	keep := map[string]bool{}
	for i := range turns {
		keep[turns[i].ID] = true
	}
	kept := c.shown[:0:0]
	for _, t := range c.shown {
		if keep[t.id] {
			kept = append(kept, t)
		} else {
			p = append(p, live.Remove("turn-"+t.id))
		}
	}
	for i := range kept { // turns were inserted before the shown ones: start over
		if kept[i].id != turns[i].ID {
			c.shown = nil
			return append(p, live.Replace("turns", page.TurnsPart(page.Chat{})), live.Remove("no-turns"))
		}
	}
	c.shown = kept
	return p
}

// composer renders the composer's regions.
func (c *chatRoom) composer(s live.States) []live.Patch {
	comp := c.composerOf(s)
	return []live.Patch{
		live.Replace("composer-mode", part.ComposerMode(comp)),
		live.Replace("queue", part.QueuePart(comp)),
		live.Replace("background", part.BackgroundPart(comp)),
		live.Replace("setting-forms", part.SettingForms(c.base, comp.Settings)),
		live.Replace("settings", part.SettingsPart(comp.Agent, comp.Settings)),
		live.Replace("settings-seen", part.SettingsSeen(comp.Agent, comp.Settings)),
		live.Replace("usage", part.UsagePart(c.usage.of(c.state(s)))),
		live.Replace("silent", part.SilentPart(comp)),
		live.Replace("failed", part.FailedPart(comp)),
	}
}

// shownUsage recomputes the sum of a chat's usage only when it may have changed: streamed text
// arrives far more often.
type shownUsage struct {
	turns   int
	current *ahp.UsageInfo
	words   string
}

func (u *shownUsage) of(c *ahp.ChatState) string {
	var current *ahp.UsageInfo
	if c.ActiveTurn != nil {
		current = c.ActiveTurn.Usage
	}
	if u.turns != len(c.Turns) || u.current != current {
		*u = shownUsage{len(c.Turns), current, part.UsageWords(turnsOf(c, "", ""))}
	}
	return u.words
}

// spoken returns what screen readers announce when the status changes.
func spoken(old, now ahp.SessionStatus) []live.Patch {
	switch {
	case old == 0:
		return nil
	case now == ahp.SessionStatusInputNeeded:
		return []live.Patch{live.Say("The agent needs you.")}
	case now == ahp.SessionStatusInProgress && old != ahp.SessionStatusInputNeeded:
		return []live.Patch{live.Say("The agent started.")}
	case now == ahp.SessionStatusError:
		return []live.Patch{live.Say("The turn failed.")}
	case now == ahp.SessionStatusIdle:
		return []live.Patch{live.Say("The agent finished.")}
	}
	return nil
}

// show records what pages have of a turn that was rendered as a whole.
func show(t *part.Turn, from any) shownTurn {
	t.Measure()
	s := shownTurn{id: t.ID, from: from, last: t.Last, foot: live.Render(part.TurnFoot(*t)), Measured: t.Measured,
		plan: live.Render(part.PlanPart(t.Plan())), steps: len(t.Parts)}
	for i := range t.Parts {
		s.parts = append(s.parts, showPart(t, i))
	}
	return s
}

func showPart(t *part.Turn, i int) shownPart {
	sp := shownPart{value: t.Parts[i].Value, streams: t.Streams(i)}
	if text, ok := part.Text(t.Parts[i]); ok && t.Running() && !t.Hides(i) {
		sp.stream = t.Splitter(i)
		for _, b := range sp.stream.Update(text, !sp.streams) {
			sp.blocks = append(sp.blocks, shownBlock{b.N, b.HTML()})
		}
	}
	return sp
}

// update returns patches that update a turn on pages.
func (s *shownTurn) update(t *part.Turn, from any) (p []live.Patch) {
	if s.from == from && s.last == t.Last {
		return nil
	}
	t.Measure()
	if len(t.Parts) < len(s.parts) || t.Measured != s.Measured {
		*s = show(t, from)
		return []live.Patch{live.Replace("turn-"+t.ID, part.TurnPart(*t))}
	}
	resumable := s.last != t.Last || from != s.from && !t.Running()
	for i := range t.Parts {
		if t.Hides(i) {
			continue
		}
		if i >= len(s.parts) {
			p = append(p, s.add(t, i)...)
			continue
		}
		p = append(p, s.parts[i].update(t, i, resumable)...)
	}
	p = append(p, s.updatePlan(t)...)
	if foot := live.Render(part.TurnFoot(*t)); foot != s.foot {
		s.foot = foot
		p = append(p, live.ReplaceHTML("foot-"+t.ID, foot))
	}
	s.from, s.last = from, t.Last
	return p
}

// updatePlan redraws the turn's plan when it may have changed: streamed text arrives far more often.
func (s *shownTurn) updatePlan(t *part.Turn) []live.Patch {
	if s.steps == len(t.Parts) && t.Running() {
		return nil
	}
	s.steps = len(t.Parts)
	plan := live.Render(part.PlanPart(t.Plan()))
	if plan == s.plan {
		return nil
	}
	s.plan = plan
	return []live.Patch{live.ReplaceHTML("plan-"+t.ID, plan)}
}

// add appends a part. A long text is sent block by block, even if its turn ended before it was rendered.
func (s *shownTurn) add(t *part.Turn, i int) []live.Patch {
	sp := showPart(t, i)
	text, ok := part.Text(t.Parts[i])
	if !ok || len(t.Splitter(i).Update(text, !sp.streams)) <= 1 {
		s.parts = append(s.parts, sp)
		return []live.Patch{live.Append("parts-"+t.ID, part.ResponsePart(*t, i))}
	}
	bare := *t
	bare.Parts = slices.Clone(t.Parts)
	bare.Parts[i] = part.Emptied(t.Parts[i])
	sp.stream, sp.blocks = nil, nil
	p := append([]live.Patch{live.Append("parts-"+t.ID, part.ResponsePart(bare, i))},
		sp.text(t, i, text, !sp.streams)...)
	if !t.Running() {
		sp.stream, sp.blocks = nil, nil
	}
	s.parts = append(s.parts, sp)
	return p
}

// update patches one part: text grows, other parts are rendered again.
func (s *shownPart) update(t *part.Turn, i int, ended bool) []live.Patch {
	now, streams := t.Parts[i].Value, t.Streams(i)
	if _, fails := now.(*ahp.ErrorResponsePart); s.value == now && s.streams == streams && !(fails && ended) &&
		!s.openRequest(ended) {
		return nil
	}
	s.value, s.streams = now, streams
	if text, ok := part.Text(t.Parts[i]); ok {
		return s.text(t, i, text, !streams)
	}
	return []live.Patch{live.Replace(t.PartID(i), part.ResponsePart(*t, i))}
}

// openRequest reports whether an unanswered question can no longer be answered because its turn ended.
func (s *shownPart) openRequest(ended bool) bool {
	r, ok := s.value.(*ahp.InputRequestResponsePart)
	return ok && ended && r.Response == ""
}

// text patches the changed blocks: while text streams, only the end of the last one. Pages show the beginning and the
// end of a long text: blocks in between are removed.
func (s *shownPart) text(t *part.Turn, i int, text string, ended bool) (p []live.Patch) {
	if s.stream == nil {
		s.stream = t.Splitter(i)
	}
	id, blocks := t.PartID(i), s.stream.Update(text, ended)
	p = s.drop(id, blocks)
	had := 0
	now := make([]shownBlock, 0, len(blocks))
	for j := range blocks {
		html, block := blocks[j].HTML(), part.BlockID(id, blocks[j].N)
		now = append(now, shownBlock{blocks[j].N, html})
		switch {
		case had >= len(s.blocks):
			p = append(p, live.Append(id, part.BlockPart(block, blocks[j])))
		case s.blocks[had].html != html:
			p = append(p, changedBlock(block, s.blocks[had].html, html, blocks[j]))
		}
		had++
	}
	s.blocks = now
	return p
}

// drop removes blocks that pages no longer show.
func (s *shownPart) drop(id string, blocks []part.Block) (p []live.Patch) {
	keep := make(map[int]bool, len(blocks))
	for _, b := range blocks {
		keep[b.N] = true
	}
	kept := s.blocks[:0]
	for _, b := range s.blocks {
		if keep[b.n] {
			kept = append(kept, b)
		} else {
			p = append(p, live.Remove(part.BlockID(id, b.n)))
		}
	}
	s.blocks = kept
	return p
}

func changedBlock(id, old, now string, b part.Block) live.Patch {
	if g, ok := part.Grow(old, now); ok {
		return live.Grow(id, g)
	}
	return live.Replace(id, part.BlockPart(id, b))
}
