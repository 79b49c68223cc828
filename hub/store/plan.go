package store

import (
	"fmt"
	"time"

	"github.com/ahphub/ahphub/hub"
	"github.com/ahphub/ahphub/hub/ahp"
)

// plan is a batch as statements. It is made once, tried until it is on disk,
// and changes nothing when it is tried twice.
type plan struct {
	ops      []op
	touched  map[*channelRow]int64 // bytes added
	clients  map[string]int64      // newest clientSeq by client
	reserved int64
	grown    []*channelRow
	sums     summer
}

type op struct {
	query string
	args  []any
}

const (
	sqlEnvelope    = "INSERT INTO envelopes (seq, channel, at, bytes, principal, client, client_seq, action, sum) VALUES (?,?,?,?,?,?,?,?,?)"
	sqlAnswer      = "INSERT OR REPLACE INTO answers (client, client_seq, seq, channel, at) VALUES (?,?,?,?,?)"
	sqlForget      = "DELETE FROM answers WHERE client=?"
	sqlThin        = "DELETE FROM answers WHERE client=? AND client_seq<=?"
	sqlOpen        = "INSERT INTO channels (id, uri, kind, session, chat, floor, last, run, snap) VALUES (?,?,?,?,?,?,?,0,?)"
	sqlGrow        = "UPDATE channels SET last=?, run=run+? WHERE id=?"
	sqlSnapshot    = "INSERT OR REPLACE INTO snapshots (channel, seq, state, sum) VALUES (?,?,?,?)"
	answersAClient = 1024
)

func (p *plan) add(query string, args ...any) { p.ops = append(p.ops, op{query, args}) }

func (s *Store) plan(b hub.Batch) (*plan, error) {
	s.catalogue.mu.Lock()
	defer s.catalogue.mu.Unlock()
	p := &plan{ops: make([]op, 0, len(b.Writes)+4), touched: map[*channelRow]int64{}, clients: map[string]int64{}}
	if b.Reserve {
		p.reserved = b.Seq + s.cfg.SeqBlock
		p.add(sqlReserve, p.reserved)
	}
	for _, w := range b.Writes {
		if err := s.planWrite(p, w); err != nil {
			return nil, err
		}
	}
	for r, bytes := range p.touched {
		p.add(sqlGrow, r.last, bytes, r.id)
		p.grown = append(p.grown, r)
	}
	for client, seq := range p.clients {
		p.add(sqlThin, client, seq-answersAClient)
	}
	return p, nil
}

func (s *Store) planWrite(p *plan, w hub.Write) error {
	switch {
	case w.Env != nil:
		return s.planEnvelope(p, w.Env)
	case w.Open != nil:
		return s.planOpen(p, w.Open)
	case w.Record != nil:
		return p.record(w.Record)
	default:
		s.planClose(p, w.Close)
	}
	return nil
}

func (s *Store) planEnvelope(p *plan, e *hub.Envelope) error {
	r := s.catalogue.byURI[e.Channel.URI]
	if r == nil {
		return fmt.Errorf("envelope %d is for %s, which was never opened", e.Seq, e.Channel)
	}
	action, err := ahp.MarshalAction(e.Action)
	if err != nil {
		return fmt.Errorf("envelope %d (%s): %w", e.Seq, e.Action.ActionType(), err)
	}
	at := e.At.UnixMicro()
	if e.Origin == nil {
		sum := p.sums.envelope(e.Seq, r.id, at, e.Principal, "", 0, action)
		p.add(sqlEnvelope, e.Seq, r.id, at, len(action), nullable(e.Principal), nil, nil, action, sum)
	} else {
		sum := p.sums.envelope(e.Seq, r.id, at, e.Principal, e.Origin.ClientID, e.Origin.ClientSeq, action)
		p.add(sqlEnvelope, e.Seq, r.id, at, len(action), nullable(e.Principal), e.Origin.ClientID, e.Origin.ClientSeq, action, sum)
		client := clientKey(e.Principal, e.Origin.ClientID)
		p.add(sqlAnswer, client, e.Origin.ClientSeq, e.Seq, e.Channel.URI, at)
		p.clients[client] = e.Origin.ClientSeq
	}
	r.last = e.Seq
	r.run += int64(len(action))
	p.touched[r] += int64(len(action))
	return nil
}

func (s *Store) planOpen(p *plan, o *hub.OpenWrite) error {
	state, err := ahp.Marshal(o.State)
	if err != nil {
		return fmt.Errorf("state of %s: %w", o.Info, err)
	}
	r := &channelRow{id: s.catalogue.next, info: o.Info, floor: o.Seq, last: o.Seq, snap: int64(len(state))}
	s.catalogue.next++
	s.catalogue.byURI[o.Info.URI] = r
	p.add(sqlOpen, r.id, o.Info.URI, string(o.Info.Kind), o.Info.Session, o.Info.Chat, r.floor, r.last, r.snap)
	p.add(sqlSnapshot, r.id, o.Seq, state, p.sums.snapshot(r.id, o.Seq, state))
	return nil
}

func (s *Store) planClose(p *plan, uri ahp.URI) {
	r := s.catalogue.byURI[uri]
	if r == nil {
		return
	}
	delete(s.catalogue.byURI, uri)
	delete(p.touched, r)
	p.add("DELETE FROM channels WHERE id=?", r.id)
	p.add("DELETE FROM snapshots WHERE channel=?", r.id)
	p.add("DELETE FROM envelopes WHERE channel=?", r.id)
}

func (p *plan) record(r *hub.Record) error {
	value := r.Value
	if r.Encode != nil {
		var err error
		if value, err = r.Encode(); err != nil {
			return fmt.Errorf("document %s of %s: %w", r.Key, r.Bucket, err)
		}
	}
	if r.Bucket == clientBucket {
		p.add(sqlForget, r.Key)
		delete(p.clients, r.Key)
	}
	if value == nil {
		p.add(sqlDeleteDoc, r.Bucket, r.Key)
		return nil
	}
	p.add(sqlPutDoc, r.Bucket, r.Key, time.Now().UnixMicro(), value)
	return nil
}

func (p *plan) apply(c *conn) error {
	for _, o := range p.ops {
		if _, err := c.exec(o.query, o.args...); err != nil {
			return err
		}
	}
	return nil
}

func nullable(s string) any {
	if s == "" {
		return nil
	}
	return s
}
