package manage

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"sync"
	"time"

	"github.com/ahphub/ahphub/hub/cluster"
	"github.com/ahphub/ahphub/hub/cluster/peers"
)

const (
	prefix    = "/cluster/"
	mostCall  = 64 << 10
	callTime  = 30 * time.Second
	leadTime  = 5 * time.Second // maximum wait of a call for a leader
	reportAge = time.Second     // time limit for a node's report
)

// ErrNoLeader is returned for calls while no node leads.
var ErrNoLeader = errors.New("no node leads the cluster now. Try again in a few seconds. " +
	"If this error stays, too few nodes are up: start them")

// Config configures a Manager.
type Config struct {
	Node     *peers.Node
	Log      *cluster.Raft
	Listener *peers.Listener
	Version  string // of the program
	Logger   *slog.Logger
	// KeyID returns the ID of the key with which this node encrypts secrets; nil: it has none.
	KeyID func() string
	// AcceptKeys stores the keys of secrets that the leader offers. Offer and answer are JSON.
	AcceptKeys func(offer []byte) ([]byte, error)
	// Transfer transfers leadership to the named node, or to any voter for "". It is called only on
	// the leader.
	Transfer func(ctx context.Context, name string) error
}

// Manager handles the cluster's management calls on one node.
type Manager struct {
	cfg    Config
	client http.Client

	mu        sync.Mutex
	authority *peers.Authority // while this node leads
	latest    *Status          // newest status of Watch; nil while this node does not lead
}

// New returns a Manager, which also answers nodes that join through the listener.
func New(cfg Config) *Manager {
	if cfg.KeyID == nil {
		cfg.KeyID = func() string { return "" }
	}
	m := &Manager{cfg: cfg, client: http.Client{Transport: cfg.Node.Transport(), Timeout: callTime}}
	cfg.Listener.OnJoin(func(ctx context.Context, r peers.JoinRequest) (reply peers.JoinReply, err error) {
		err = m.call(ctx, "join", r, &reply)
		switch {
		case errors.Is(err, ErrNoLeader):
			err = peers.Refuse(err)
		case err != nil && !peers.IsRefused(err):
			cfg.Logger.Debug("cannot answer a joining node", "err", err) // anyone may cause it
		}
		return reply, err
	})
	return m
}

// KeepFresh renews this node's certificate before it expires, until ctx is canceled.
func (m *Manager) KeepFresh(ctx context.Context) {
	m.cfg.Node.KeepFresh(ctx, func(ctx context.Context, request []byte) (der []byte, err error) {
		err = m.call(ctx, "renew", request, &der)
		return der, err
	}, func(err error) { m.cfg.Logger.Warn("cannot renew this node's certificate", "err", err) })
	m.client.CloseIdleConnections()
}

// Lead sets the authority that signs certificates while this node leads; nil when it stops leading.
func (m *Manager) Lead(a *peers.Authority) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.authority = a
}

func (m *Manager) leading() *peers.Authority {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.authority
}

// call makes a call to this node, which passes it to the leader if needed. in and out are JSON.
func (m *Manager) call(ctx context.Context, what string, in, out any) error {
	b, err := json.Marshal(in)
	if err != nil {
		return err
	}
	answer, err := m.answer(ctx, what, b, m.self(), false)
	if err != nil {
		return err
	}
	return json.Unmarshal(answer, out)
}

// self returns this node as a member.
func (m *Manager) self() peers.Member {
	for _, one := range m.cfg.Node.Members() {
		if one.Name == m.cfg.Node.Name() {
			return one
		}
	}
	return peers.Member{}
}

// Handler handles calls from other nodes, under /cluster/.
func (m *Manager) Handler() http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		from, ok := peers.FromContext(r.Context())
		if !ok {
			http.Error(w, "only nodes of the cluster may call this", http.StatusForbidden)
			return
		}
		m.serve(w, r, from, true)
	})
}

// serve handles a call. A call from another node always counts as passed on, so it is handled here,
// in that node's name, or not at all.
func (m *Manager) serve(w http.ResponseWriter, r *http.Request, from peers.Member, passed bool) {
	if r.Method != http.MethodPost || len(r.URL.Path) <= len(prefix) || r.URL.Path[:len(prefix)] != prefix {
		http.NotFound(w, r)
		return
	}
	ctx, cancel := context.WithTimeout(r.Context(), callTime)
	defer cancel()
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, mostCall))
	var answer []byte
	if err == nil {
		answer, err = m.answer(ctx, r.URL.Path[len(prefix):], body, from, passed)
	}
	switch {
	case peers.IsRefused(err):
		http.Error(w, err.Error(), http.StatusConflict)
	case err != nil:
		http.Error(w, err.Error(), http.StatusServiceUnavailable)
	default:
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write(answer)
	}
}

// pass passes a call to another node.
func (m *Manager) pass(ctx context.Context, name, what string, body []byte) ([]byte, error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://"+name+prefix+what, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	b, err := send(&m.client, r)
	if errors.Is(err, peers.ErrTurnedAway) {
		return nil, fmt.Errorf("%s refuses this node. "+
			"To join the cluster again, delete the data directory and use a new token: %w", name, err)
	}
	return b, err
}

// send sends a call and returns the answer. A refusal there is a refusal here.
func send(client *http.Client, r *http.Request) ([]byte, error) {
	resp, err := client.Do(r)
	if failed, ok := errors.AsType[*url.Error](err); ok {
		err = failed.Err // omits the internal URL
	}
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(io.LimitReader(resp.Body, 1<<20))
	if err != nil {
		return nil, err
	}
	switch resp.StatusCode {
	case http.StatusOK:
		return b, nil
	case http.StatusConflict:
		return nil, peers.Refuse(errors.New(string(bytes.TrimSpace(b))))
	}
	return nil, fmt.Errorf("%s", bytes.TrimSpace(b))
}
