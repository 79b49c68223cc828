package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"github.com/ahphub/ahphub/hub"
	"github.com/ahphub/ahphub/hub/ahp"
)

// loaded is a channel read from its rows.
type loaded struct {
	id          int64
	info        hub.ChannelInfo
	state       ahp.State
	floor, last int64
	base        int64 // sequence number of the snapshot
	run         int64 // bytes of the envelopes after the snapshot
	ran         int64 // the same, as counted in the channel's row
	summed      bool  // the last row read has a checksum
	envs        []*hub.Envelope
	bytes       []int
	sums        checksummer
}

// Load reads a channel that is not in memory: its snapshot, reduced by later envelopes, and its
// replay window.
func (s *Store) Load(ctx context.Context, uri ahp.URI) (hub.Loaded, error) {
	c, err := s.readChannel(ctx, uri)
	if err != nil {
		s.noteDamage(err)
		return hub.Loaded{}, err
	}
	out := hub.Loaded{State: c.state, Last: c.last, Floor: c.cut(s.cfg.WindowBytes)}
	for i, e := range c.envs {
		if e.Seq > out.Floor {
			out.Window = c.envs[i:]
			break
		}
	}
	return out, nil
}

// readChannel reads in one transaction, for consistency.
func (s *Store) readChannel(ctx context.Context, uri ahp.URI) (*loaded, error) {
	tx, err := s.read.BeginTx(ctx, &sql.TxOptions{ReadOnly: true})
	if err != nil {
		return nil, describe(err)
	}
	defer tx.Rollback()
	c := &loaded{}
	err = c.readSnapshot(ctx, tx, uri)
	if err == nil {
		err = c.readEnvelopes(ctx, tx)
	}
	if err = describe(err); err == nil {
		return c, nil
	}
	if _, named := errors.AsType[*DamageError](err); errors.Is(err, ErrDamaged) && !named {
		return nil, &DamageError{What: "a part", URI: uri, Cause: err}
	}
	return nil, fmt.Errorf("channel %s: %w", uri, err)
}

func (c *loaded) readSnapshot(ctx context.Context, tx *sql.Tx, uri ahp.URI) error {
	var state []byte
	var sum sql.NullInt64
	err := tx.QueryRowContext(ctx,
		`SELECT c.id, c.uri, c.kind, c.session, c.chat, c.floor, c.last, c.run, s.seq, s.state, s.sum
		FROM channels c JOIN snapshots s ON s.channel=c.id WHERE c.uri=?`, uri).
		Scan(&c.id, &c.info.URI, &c.info.Kind, &c.info.Session, &c.info.Chat, &c.floor, &c.last, &c.ran, &c.base,
			&state, &sum)
	if errors.Is(err, sql.ErrNoRows) {
		return ErrNotFound
	}
	if err != nil {
		return err
	}
	c.summed = sum.Valid
	if differs(sum, c.sums.snapshot(c.id, c.base, state)) {
		return &DamageError{What: "the snapshot", URI: uri}
	}
	if c.state, err = ahp.UnmarshalState(c.info.Kind, state); err != nil {
		return &DamageError{What: "the snapshot", URI: uri, Cause: err}
	}
	return nil
}

const sqlReadEnvelopes = `SELECT seq, at, principal, client, client_seq, action, sum FROM envelopes WHERE channel=? ORDER BY seq`

func (c *loaded) readEnvelopes(ctx context.Context, tx *sql.Tx) error {
	rows, err := tx.QueryContext(ctx, sqlReadEnvelopes, c.id)
	if err != nil {
		return err
	}
	return scan(rows, func() error {
		e, size, err := c.scanEnvelope(rows)
		if err != nil {
			return err
		}
		if e.Seq > c.base {
			c.state = ahp.Reduce(c.state, e.Action)
			c.run += int64(size)
		}
		c.envs, c.bytes = append(c.envs, e), append(c.bytes, size)
		return nil
	})
}

func (c *loaded) scanEnvelope(rows *sql.Rows) (*hub.Envelope, int, error) {
	var at int64
	var principal, client sql.NullString
	var clientSeq, sum sql.NullInt64
	var action []byte // a copy, because the decoded action may share it
	e := &hub.Envelope{Channel: c.info}
	if err := rows.Scan(&e.Seq, &at, &principal, &client, &clientSeq, &action, &sum); err != nil {
		return nil, 0, err
	}
	e.At, e.Principal = time.UnixMicro(at), principal.String
	c.summed = sum.Valid
	if differs(sum, c.sums.envelope(e.Seq, c.id, at, principal.String, client.String, clientSeq.Int64, action)) {
		return nil, 0, damagedRow(e, nil)
	}
	var err error
	if e.Action, err = ahp.UnmarshalAction(action); err != nil {
		return nil, 0, damagedRow(e, err)
	}
	if client.Valid {
		e.Origin = &ahp.ActionOrigin{ClientID: client.String, ClientSeq: clientSeq.Int64}
	}
	return e, len(action), nil
}

func damagedRow(e *hub.Envelope, cause error) *DamageError {
	return &DamageError{What: fmt.Sprintf("journal row %d", e.Seq), URI: e.Channel.URI, At: e.At, Cause: cause}
}

// cut returns the number up to which envelopes are outside of the replay window.
func (c *loaded) cut(window int) int64 {
	total := 0
	for i := len(c.envs) - 1; i >= 0; i-- {
		if total += c.bytes[i]; total > window && i < len(c.envs)-1 {
			return c.envs[i].Seq
		}
	}
	return c.floor
}
