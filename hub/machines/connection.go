package machines

import (
	"context"
	"net"
	"time"
)

// Status is a machine and the state of its connection.
type Status struct {
	Machine
	Online  bool      // it is connected, and its facts are known
	Since   time.Time // start of the connection, or else end of the last one; zero: never connected
	Report  Report    // of the newest connection since the hub's start
	Refused string    // why the last connection was refused; "" if it was not

	// Since the hub's start:
	Connections uint64
	Received    uint64 // bytes from the machine, without encryption
	Sent        uint64
}

// connection is a machine's newest connection.
type connection struct {
	end    context.CancelCauseFunc
	since  time.Time
	report Report
	open   bool
	ready  bool // the machine's facts are known
}

func (m *machine) status() Status {
	s := Status{Machine: m.Machine, Since: m.seen, Connections: m.used, Received: m.received.Load(), Sent: m.sent.Load()}
	s.Refused = m.refused
	if m.conn != nil {
		s.Report = m.conn.report
		if s.Online = m.conn.open && m.conn.ready; s.Online {
			s.Since = m.conn.since
		}
	}
	return s
}

// disconnect ends the connection; the registry's mu is held.
func (m *machine) disconnect(cause error) {
	if m.conn != nil && m.conn.open {
		m.conn.end(cause)
	}
}

func (r *Registry) disconnect(id string, cause error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if m := r.byID[id]; m != nil {
		m.disconnect(cause)
	}
}

// Connect registers a connection of a machine, which ends an older one: the newest wins. The context ends when the
// machine is revoked or has a newer connection; call leave once the connection is over. The incarnation counts the
// machine's connections since the hub's start. The machine is not online before SetReady.
func (r *Registry) Connect(ctx context.Context, id string, report Report) (
	bound context.Context, incarnation uint64, leave func(), err error) {
	r.mu.Lock()
	m := r.byID[id]
	if m == nil {
		r.mu.Unlock()
		return nil, 0, nil, ErrUnknown
	}
	m.disconnect(ErrReplaced)
	bound, end := context.WithCancelCause(ctx)
	c := &connection{end: end, since: r.cfg.Now().UTC(), report: report.Clean(), open: true}
	m.count++
	m.conn, incarnation, m.refused = c, m.count, ""
	r.mu.Unlock()
	r.tell()
	return bound, incarnation, func() { r.leave(ctx, id, c) }, nil
}

// SetReady records that a machine's facts are known: it is online until its connection ends.
func (r *Registry) SetReady(id string) {
	r.mu.Lock()
	m := r.byID[id]
	news := m != nil && m.conn != nil && m.conn.open && !m.conn.ready
	if news {
		m.conn.ready = true
		m.used++
	}
	r.mu.Unlock()
	if news {
		r.tell()
	}
}

// Refuse records why a machine's connection was refused, and its report.
func (r *Registry) Refuse(id string, report Report, why error) {
	r.mu.Lock()
	m := r.byID[id]
	if m != nil {
		m.refused = why.Error()
		if m.conn == nil {
			m.conn = &connection{report: report.Clean()}
		} else if !m.conn.open {
			m.conn.report = report.Clean()
		}
	}
	r.mu.Unlock()
	if m != nil {
		r.tell()
	}
}

// Update records a new report of a connected machine.
func (r *Registry) Update(id string, report Report) {
	report = report.Clean()
	r.mu.Lock()
	m := r.byID[id]
	known := m != nil && m.conn != nil && m.conn.open
	if known {
		m.conn.report = report
	}
	r.mu.Unlock()
	if known {
		r.tell()
	}
}

// leave ends a connection, and stores the time unless there is a newer connection.
func (r *Registry) leave(ctx context.Context, id string, c *connection) {
	c.end(context.Canceled)
	r.mu.Lock()
	c.open = false
	m := r.byID[id]
	newest := m != nil && m.conn == c
	now := r.cfg.Now().UTC()
	if newest {
		m.seen = now
	}
	r.mu.Unlock()
	if newest {
		if text, err := now.MarshalText(); err == nil {
			_ = r.cfg.Docs.Put(context.WithoutCancel(ctx), seenBucket, id, text) // on failure an older time is shown
		}
	}
	r.tell()
}

// Meter counts the bytes on a connection of a machine.
func (r *Registry) Meter(id string, conn net.Conn) net.Conn {
	r.mu.Lock()
	defer r.mu.Unlock()
	m := r.byID[id]
	if m == nil {
		return conn
	}
	return &meteredConn{conn, m}
}

// meteredConn adds its traffic to the counts of a machine.
type meteredConn struct {
	net.Conn
	machine *machine
}

// Read counts received bytes.
func (c *meteredConn) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	c.machine.received.Add(uint64(n))
	return n, err
}

// Write counts sent bytes.
func (c *meteredConn) Write(p []byte) (int, error) {
	n, err := c.Conn.Write(p)
	c.machine.sent.Add(uint64(n))
	return n, err
}
