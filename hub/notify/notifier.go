package notify

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"maps"
	"net/netip"
	"slices"
	"sync"
	"time"

	"github.com/ahphub/ahphub/hub"
	"github.com/ahphub/ahphub/hub/access"
	"github.com/ahphub/ahphub/hub/ahp"
	"github.com/ahphub/ahphub/hub/review"
)

// Store keeps what people chose. What is on its way goes through the hub's journal, so that it is in order with its cause.
type Store interface {
	Put(ctx context.Context, bucket, key string, value []byte) error
	Get(ctx context.Context, bucket, key string) (value []byte, found bool, err error)
	Delete(ctx context.Context, bucket, key string) error
	Each(ctx context.Context, bucket string, visit func(key string, value []byte) error) error
}

// Sessions is what the host knows of them; both are asked under the hub's lock.
type Sessions interface {
	Desk(session ahp.URI) review.Review
	Summary(session ahp.URI) (ahp.SessionSummary, bool)
}

// Mailer hands one mail to a server.
type Mailer interface {
	Send(ctx context.Context, m Letter) error
}

// Config of a Notifier. Zero fields take the stated default.
type Config struct {
	Hub   *hub.Hub
	Host  Sessions
	Store Store
	// Person is somebody with an account as what they are in a session: a guest has none, and gets neither mail nor webhooks.
	Person func(id string, session ahp.URI) (access.Principal, bool)
	Short  func(session ahp.URI) string                                        // as in addresses
	ChatID func(chat ahp.URI) string                                           // as in addresses
	Author func(ahp.AnnotationEntry) (by review.Person, at time.Time, ok bool) // of a comment, as the host stamped it
	Guest  func(ahp.Message) bool                                              // reports whether another than the owner wrote a prompt
	Public func() string                                                       // address that people open this host by
	Key    []byte                                                              // signs the links that unsubscribe
	Mailer Mailer                                                              // nil: no mail is sent
	Allow  []netip.Prefix                                                      // addresses of this network that webhooks may be sent to: none
	Log    *slog.Logger
	Limits Limits
}

// Limits bounds what waits and how long.
type Limits struct {
	Hooks   int           // of one person, and of the host: 5
	Jobs    int           // that wait for one webhook or mailbox: 500, then the oldest goes
	Attempt time.Duration // one delivery: 10 s
	First   time.Duration // until the second attempt: 2 s, then three times as long each, up to 3 h
	Most    int           // attempts: 11, which take about 9 hours
}

func (l Limits) withDefaults() Limits {
	l.Hooks = cmp.Or(l.Hooks, 5)
	l.Jobs = cmp.Or(l.Jobs, 500)
	l.Attempt = cmp.Or(l.Attempt, 10*time.Second)
	l.First = cmp.Or(l.First, 2*time.Second)
	l.Most = cmp.Or(l.Most, 11)
	return l
}

// Notifier tells people. New, then Derive and Judged are called by the hub and the host, and Run once.
type Notifier struct {
	cfg  Config
	log  *slog.Logger
	seen seen
	live live
	post *poster

	prefs sync.Mutex // over reading and writing what somebody chose
	wake  chan struct{}

	mu      sync.Mutex
	inbox   []Notice
	loaded  map[string]bool   // notices read at the start, which may arrive still
	waiting map[string]*batch // by person: what their next mail says
	jobs    map[string]*job
	busy    map[string]bool // targets something is being sent to
}

// New makes a notifier.
func New(cfg Config) (*Notifier, error) {
	if cfg.Hub == nil || cfg.Host == nil || cfg.Store == nil || cfg.Person == nil || cfg.Short == nil || cfg.ChatID == nil || cfg.Author == nil || cfg.Public == nil || len(cfg.Key) < 32 {
		return nil, errors.New("notify: Config misses a part")
	}
	cfg.Limits = cfg.Limits.withDefaults()
	n := &Notifier{cfg: cfg, log: cmp.Or(cfg.Log, slog.New(slog.DiscardHandler)), post: newPoster(cfg.Allow, cfg.Limits.Attempt),
		wake: make(chan struct{}, 1), waiting: map[string]*batch{}, jobs: map[string]*job{}, busy: map[string]bool{}}
	return n, nil
}

// CanMail reports whether mail is set up.
func (n *Notifier) CanMail() bool { return n.cfg.Mailer != nil }

// Waiting counts what is on its way.
func (n *Notifier) Waiting() int {
	n.mu.Lock()
	defer n.mu.Unlock()
	return len(n.inbox) + len(n.waiting) + len(n.jobs)
}

// arrived is called once a notice is durable.
func (n *Notifier) arrived(x Notice) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if !n.loaded[x.ID] {
		n.inbox = append(n.inbox, x)
		n.stir()
	}
}

func (n *Notifier) stir() {
	select {
	case n.wake <- struct{}{}:
	default: // it will look anyway
	}
}

// Run tells people until ctx ends, and waits for what is being sent.
func (n *Notifier) Run(ctx context.Context) error {
	if err := n.load(ctx); ctx.Err() != nil {
		return nil
	} else if err != nil {
		return err
	}
	var sending sync.WaitGroup
	defer sending.Wait()
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		n.fanOut(ctx)
		n.mailDue(ctx)
		n.sendDue(ctx, &sending)
		timer.Reset(time.Until(n.next()))
		select {
		case <-n.wake:
		case <-timer.C:
		case <-ctx.Done():
			return nil
		}
	}
}

// load reads what was on its way when the program ended.
func (n *Notifier) load(ctx context.Context) error {
	notices, err := each[Notice](ctx, n.cfg.Store, noticeBucket)
	if err != nil {
		return err
	}
	jobs, err := each[*job](ctx, n.cfg.Store, jobBucket)
	if err != nil {
		return err
	}
	n.mu.Lock()
	n.loaded = map[string]bool{}
	for _, x := range slices.SortedFunc(maps.Values(notices), func(a, b Notice) int { return a.At.Compare(b.At) }) {
		n.loaded[x.ID] = true
		if !slices.ContainsFunc(n.inbox, func(have Notice) bool { return have.ID == x.ID }) { // of this start
			n.inbox = append(n.inbox, x)
		}
	}
	for key, j := range jobs {
		j.key = key
		n.jobs[key] = j
	}
	n.mu.Unlock()
	return n.loadMail(ctx)
}

// each reads a bucket; what cannot be read is left out, because nobody could be told of it.
func each[T any](ctx context.Context, s Store, bucket string) (map[string]T, error) {
	out := map[string]T{}
	err := s.Each(ctx, bucket, func(key string, raw []byte) error {
		var v T
		if json.Unmarshal(raw, &v) == nil {
			out[key] = v
		}
		return nil
	})
	return out, err
}

// next is when something is due, at the latest in an hour.
func (n *Notifier) next() time.Time {
	n.mu.Lock()
	defer n.mu.Unlock()
	at := time.Now().Add(time.Hour)
	for _, j := range n.jobs {
		if !n.busy[j.target()] && len(n.busy) < mostAtOnce { // those wait for one that ends
			at = earlier(at, j.Due)
		}
	}
	if len(n.inbox) > 0 { // the journal did not take it: in a moment again
		at = earlier(at, time.Now().Add(time.Second))
	}
	for _, b := range n.waiting {
		at = earlier(at, b.due)
	}
	return at
}

func earlier(a, b time.Time) time.Time {
	if b.Before(a) {
		return b
	}
	return a
}
