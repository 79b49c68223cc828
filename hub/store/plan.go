package store

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"github.com/ahphub/ahphub/hub"
	"github.com/ahphub/ahphub/hub/ahp"
)

// Keys of meta.
const (
	metaReserved = "reserved" // numbers up to this may be in use
	metaApplied  = "applied"  // position of the newest batch
	metaChannels = "channels" // id of the next channel
	metaEntries  = "entries"  // number of entries in the audit's chain
)

// plan is one or more batches as the statements of one transaction. It is built once and retried
// until it is durable; applying it twice changes nothing. Batches in one plan have the same result
// as one by one.
type plan struct {
	ops      []op
	docs     map[docKey]int        // index in ops of each document's newest write
	touched  map[*channelRow]int64 // bytes added
	clients  map[string]int64      // highest clientSeq by client
	pos      int64                 // of the newest batch
	reserved int64
	channels bool // some were opened
	entries  bool // audit entries were added
	grown    []*channelRow
	sums     checksummer
}

type docKey struct{ bucket, key string }

func newPlan() *plan {
	return &plan{docs: map[docKey]int{}, touched: map[*channelRow]int64{}, clients: map[string]int64{}}
}

type op struct {
	query string
	args  []any
}

const (
	sqlEnvelope = "INSERT INTO envelopes (seq, channel, at, bytes, principal, client, client_seq, action, sum) " +
		"VALUES (?,?,?,?,?,?,?,?,?)"
	sqlAnswer = "INSERT OR REPLACE INTO answers (client, client_seq, seq, channel, at, sum) VALUES (?,?,?,?,?,?)"
	sqlForget = "DELETE FROM answers WHERE client=?"
	sqlThin   = "DELETE FROM answers WHERE client=? AND client_seq<=?"
	sqlOpen   = "INSERT INTO channels (id, uri, kind, session, chat, floor, last, run, snap, sum) VALUES " +
		"(?,?,?,?,?,?,?,0,?,?)"
	sqlGrow     = "UPDATE channels SET last=?1, run=run+?2, sum=sum+5*(?1-last)+7*?2 WHERE id=?3" // as in checksummer
	sqlSnapshot = "INSERT OR REPLACE INTO snapshots (channel, seq, state, sum) VALUES (?,?,?,?)"
	sqlAudit    = "INSERT INTO audit (n, entry, hash) VALUES (?,?,?)"
	sqlMeta     = "INSERT INTO meta (key, value) VALUES (?,?) ON CONFLICT DO UPDATE SET value=excluded.value"
	sqlPutDoc   = "INSERT INTO docs (bucket, key, at, value, sum) VALUES (?,?,?,?,?) ON CONFLICT DO UPDATE SET " +
		"at=excluded.at, value=excluded.value, sum=excluded.sum"
	sqlDeleteDoc   = "DELETE FROM docs WHERE bucket=? AND key=?"
	sqlSeen        = "UPDATE docs SET at=?1, sum=sum+?1-at WHERE bucket=?2 AND key=?3"
	answersAClient = 1024
	thinEvery      = 64 // a client's answers are deleted in groups: each deletion changes its own pages
)

func (p *plan) add(query string, args ...any) { p.ops = append(p.ops, op{query, args}) }

func (p *plan) addMeta(key string, value int64) { p.add(sqlMeta, key, value) }

// addBatch adds an encoded batch to a plan. The catalogue and the audit's chain then are ahead of
// the disk.
func (s *Store) addBatch(p *plan, pos int64, batch []byte) error {
	d, err := decodeBatch(batch)
	if err != nil {
		return err
	}
	s.catalogue.mu.Lock()
	defer s.catalogue.mu.Unlock()
	d.int() // the sequence number of the timeline
	p.pos, p.reserved = pos, max(p.reserved, d.int())
	n := d.int()
	p.ops = slices.Grow(p.ops, int(min(2*n+8, int64(len(batch)))))
	for range n {
		if err := s.planWrite(p, d); err != nil {
			return err
		}
	}
	return d.err
}

// finish adds the writes made once per transaction: the new values of each channel and client,
// ordered by id, and meta.
func (s *Store) finish(p *plan) {
	for r := range p.touched {
		p.grown = append(p.grown, r)
	}
	slices.SortFunc(p.grown, func(a, b *channelRow) int { return cmp.Compare(a.id, b.id) })
	for _, r := range p.grown {
		p.add(sqlGrow, r.last, p.touched[r], r.id)
	}
	for _, client := range slices.Sorted(maps.Keys(p.clients)) {
		p.add(sqlThin, client, p.clients[client]/thinEvery*thinEvery-answersAClient)
	}
	p.addMeta(metaApplied, p.pos)
	if p.reserved > 0 {
		p.add(sqlReserve, p.reserved)
	}
	if p.channels {
		p.addMeta(metaChannels, s.catalogue.next)
	}
	if p.entries {
		p.addMeta(metaEntries, s.chain.n)
	}
}

func (s *Store) planWrite(p *plan, d *decoder) error {
	switch kind := d.byte(); kind {
	case kindEnvelope:
		return s.planEnvelope(p, d)
	case kindOpen:
		s.planOpen(p, d)
	case kindClose:
		s.planClose(p, d.text())
	case kindRecord, kindDelete:
		s.planRecord(p, d, kind == kindDelete)
	case kindPrune:
		p.prune(d.int())
	default:
		d.fail()
	}
	return d.err
}

func (s *Store) planEnvelope(p *plan, d *decoder) error {
	uri, seq, at, principal := d.text(), d.int(), d.int(), d.text()
	var client any
	var clientSeq any
	clientID, number := "", int64(0)
	if d.byte() == 1 {
		clientID, number = d.text(), d.int()
		client, clientSeq = clientID, number
	}
	action := d.bytes()
	r := s.catalogue.byURI[uri]
	if d.err != nil {
		return d.err
	}
	if r == nil {
		return fmt.Errorf("envelope %d is for %s, which was never opened", seq, uri)
	}
	sum := p.sums.envelope(seq, r.id, at, principal, clientID, number, action)
	p.add(sqlEnvelope, seq, r.id, at, len(action), nullable(principal), client, clientSeq, action, sum)
	if client != nil {
		key := clientKey(principal, clientID)
		p.add(sqlAnswer, key, number, seq, uri, at, p.sums.answer(key, number, seq, uri, at))
		p.clients[key] = max(p.clients[key], number)
	}
	r.last = seq
	r.run += int64(len(action))
	p.touched[r] += int64(len(action))
	return nil
}

func (s *Store) planOpen(p *plan, d *decoder) {
	info := hub.ChannelInfo{URI: d.text(), Kind: ahp.ChannelKind(d.text()), Session: d.text(), Chat: d.text()}
	seq, state := d.int(), d.bytes()
	if d.err != nil {
		return
	}
	r := &channelRow{id: s.catalogue.next, info: info, floor: seq, last: seq, snap: int64(len(state))}
	s.catalogue.next++
	p.channels = true
	s.catalogue.byURI[info.URI] = r
	p.add(sqlOpen, r.id, info.URI, string(info.Kind), info.Session, info.Chat, r.floor, r.last, r.snap, p.sums.channel(r))
	p.add(sqlSnapshot, r.id, seq, state, p.sums.snapshot(r.id, seq, state))
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

func (s *Store) planRecord(p *plan, d *decoder, gone bool) {
	bucket, key := d.text(), string(d.bytes())
	var at int64
	var value []byte
	if !gone {
		at, value = d.int(), d.bytes()
	}
	switch {
	case d.err != nil:
	case bucket == auditBucket:
		if !gone { // audit entries are permanent
			n, hash := s.chain.add(value)
			p.add(sqlAudit, n, value, hash)
			p.entries = true
		}
	case bucket == seenBucket:
		p.add(sqlSeen, at, clientBucket, key)
	default:
		p.record(bucket, key, at, value, gone)
	}
}

// record writes or deletes a document. Of several writes in a transaction, only the newest is kept,
// except for clients, whose answers are written in order.
func (p *plan) record(bucket, key string, at int64, value []byte, gone bool) {
	if bucket == clientBucket {
		p.add(sqlForget, key)
		delete(p.clients, key)
	}
	o := op{sqlPutDoc, []any{bucket, key, at, value, p.sums.doc(bucket, key, at, value)}}
	if gone {
		o = op{sqlDeleteDoc, []any{bucket, key}}
	}
	k := docKey{bucket, key}
	if place, known := p.docs[k]; known && bucket != clientBucket {
		p.ops[place] = o
		return
	}
	p.docs[k] = len(p.ops)
	p.ops = append(p.ops, o)
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
