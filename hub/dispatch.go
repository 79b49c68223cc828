package hub

import (
	"github.com/ahphub/ahphub/hub/ahp"
)

// Outcome is the result of a client's action.
type Outcome struct {
	Env      *Envelope // the numbered answer; nil when Unknown
	Rejected string    // the reason of a refusal; "" when accepted
	Unknown  bool      // no such channel for this client: silence (AHP requirement 36)
	Repeat   bool      // already answered: answered again, not run again
	NoChange bool      // accepted, changed nothing, echoed only to its sender
}

// Check examines a client's action under the lock. It returns the action to apply, with the fields
// that the host fills in, or the reason for refusing it.
type Check func(*Tx, ahp.State, ahp.Action) (ahp.Action, string)

// Dispatch runs a client's action. Every answer goes through the sender's queue: an accepted action
// is echoed to all subscribers, or only to the sender when it changed nothing; a refusal goes only
// to the sender.
func (h *Hub) Dispatch(c *Conn, uri ahp.URI, clientSeq int64, a ahp.Action, check Check) Outcome {
	mark := printOf(a) // before checks change it
	h.mu.Lock()
	defer h.mu.Unlock()
	ch := h.channels[uri]
	if ch == nil || ch.isAsleep() || !c.audience.Sees(ch.info) {
		return Outcome{Unknown: true}
	}
	if was, ok := c.client.answers[clientSeq]; ok && was.isTo(mark) {
		return h.answerAgain(c, ch, clientSeq, a, was.seq)
	}
	tx := h.begin()
	e := &Envelope{Channel: ch.info, Action: a, Principal: c.client.key.principal,
		Origin: &ahp.ActionOrigin{ClientID: c.client.key.id, ClientSeq: clientSeq}}
	stamped, reason := h.check(tx, ch, a, check)
	if reason != "" {
		e.Rejection = reason
		return Outcome{Env: h.answerAlone(c, e, mark, 0), Rejected: reason}
	}
	e.Action = stamped
	next := ahp.Reduce(ch.state, stamped)
	if next == ch.state && !goesToAll(stamped) {
		if !isEvent(stamped) {
			return Outcome{Env: h.answerAlone(c, e, mark, h.journal.pos), NoChange: true}
		}
		e = h.answerAlone(c, e, mark, 0)
		if h.derive != nil {
			h.derive(tx, e) // terminal/input: forwarded, but echoed only to its sender
		}
		return Outcome{Env: e, NoChange: true}
	}
	return Outcome{Env: h.accept(tx, c, ch, next, e, mark)}
}

func (h *Hub) check(tx *Tx, ch *channel, a ahp.Action, check Check) (ahp.Action, string) {
	if err := h.readOnly(); err != nil {
		return nil, ErrReadOnly.Error()
	}
	if check == nil {
		return a, ""
	}
	return check(tx, ch.state, a)
}

// goesToAll reports whether an action goes to all subscribers although it changed no state.
// terminal/input never does: its bytes may be a password.
func goesToAll(a ahp.Action) bool {
	_, key := a.(*ahp.TerminalInputAction)
	return isEvent(a) && !key
}

// accept commits a client's action. The sender is answered in order, even when it does not follow
// the channel.
func (h *Hub) accept(tx *Tx, c *Conn, ch *channel, next ahp.State, e *Envelope, mark uint64) *Envelope {
	var sender *Conn
	if _, follows := c.subs[ch.info.URI]; !follows {
		sender = c
	}
	e = tx.commit(ch, next, e, sender)
	c.client.remember(e.Origin.ClientSeq, answered{e.Seq, mark}, h.limits.Answers)
	if sender != nil {
		c.client.keep(e, h.limits.Refusals)
	}
	return e
}

// answerAlone numbers an envelope for its sender only and keeps it for that client's replay: a
// refusal, or an action that changed nothing, which is answered once the state it agrees with is
// durable.
func (h *Hub) answerAlone(c *Conn, e *Envelope, mark uint64, pos int64) *Envelope {
	e.Seq, e.At, e.estimate = h.next(), h.now(), estimateSize(e.Action)
	c.client.remember(e.Origin.ClientSeq, answered{e.Seq, mark}, h.limits.Answers)
	c.client.keep(e, h.limits.Refusals)
	c.push(e.enter(pos))
	return e
}

// alreadyTaken answers a resent action whose echo would undo later changes for its sender.
const alreadyTaken = "this was already accepted before the connection was lost; the current state includes it"

// answerAgain answers a resent action as before, without running it again. If its sender missed the
// answer and has since received a snapshot, the snapshot includes the action and everything after
// it: an echo would undo later changes, so the sender is told to drop the action instead. The answer
// waits for the disk as the first one does.
func (h *Hub) answerAgain(c *Conn, ch *channel, clientSeq int64, a ahp.Action, seq int64) Outcome {
	e := c.client.findKept(seq)
	if e == nil {
		e = ch.window.find(seq)
	}
	if e == nil { // past the window: the state includes it, so only report that it was accepted
		e = &Envelope{Channel: ch.info, Action: a, Principal: c.client.key.principal,
			Origin: &ahp.ActionOrigin{ClientID: c.client.key.id, ClientSeq: clientSeq}}
	}
	again := &Envelope{Channel: e.Channel, Action: e.Action, Origin: e.Origin, Principal: e.Principal,
		Rejection: e.Rejection, Seq: h.next(), At: h.now(), estimate: estimateSize(e.Action)}
	if again.Rejection == "" && ahp.Reduce(ch.state, again.Action) != ch.state {
		again.Rejection = alreadyTaken
	}
	c.push(again.enter(h.journal.pos))
	return Outcome{Env: again, Rejected: again.Rejection, Repeat: true}
}
