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
	"sync/atomic"
	"time"

	"github.com/ahphub/ahphub/hub"
	"github.com/ahphub/ahphub/hub/access"
	"github.com/ahphub/ahphub/hub/ahp"
	"github.com/ahphub/ahphub/hub/notify/webpush"
	"github.com/ahphub/ahphub/hub/review"
	"github.com/ahphub/ahphub/hub/secret"
)

// Store keeps people's choices. Pending notices go through the hub's journal, so that they are
// ordered with their causes.
type Store interface {
	Put(ctx context.Context, bucket, key string, value []byte) error
	Get(ctx context.Context, bucket, key string) (value []byte, found bool, err error)
	Delete(ctx context.Context, bucket, key string) error
	Each(ctx context.Context, bucket string, visit func(key string, value []byte) error) error
}

// Sessions is the host's knowledge of sessions; both methods are called under the hub's lock.
type Sessions interface {
	Review(session ahp.URI) review.Review
	Summary(session ahp.URI) (ahp.SessionSummary, bool)
}

// Mailer sends mail through a server.
type Mailer interface {
	Send(ctx context.Context, m Letter) error
}

// Config of a Notifier. Zero fields take the stated default.
type Config struct {
	Hub   *hub.Hub
	Host  Sessions
	Store Store
	// Person returns an account as the principal it is in a session. Guests have none, and get
	// neither mail nor webhooks.
	Person func(id string, session ahp.URI) (access.Principal, bool)
	Short  func(session ahp.URI) string                                        // short name, as in addresses
	ChatID func(chat ahp.URI) string                                           // as in addresses
	Author func(ahp.AnnotationEntry) (by review.Person, at time.Time, ok bool) // of a comment, as the host recorded it
	// reports whether the owner did not write the prompt
	Guest  func(ahp.Message) bool
	Public func() string // the host's public address
	Key    []byte        // signs the links that unsubscribe
	Keys   *secret.Keys  // seal webhooks and devices
	Mailer Mailer        // nil: no mail is sent
	// SignedIn reports whether an account is signed in with a browser; nil pushes nothing
	SignedIn func(ctx context.Context, browser, account string) (bool, error)
	// private addresses that webhooks and push messages may reach; default none
	Allow  []netip.Prefix
	Log    *slog.Logger
	Limits Limits
}

// Limits bounds pending deliveries.
type Limits struct {
	Hooks   int           // of each person, and of the host: 5
	Devices int           // of each person: 10
	Jobs    int           // pending for one webhook, device or mailbox: 500, then the oldest is dropped
	Attempt time.Duration // one delivery: 10 s
	First   time.Duration // delay of the second attempt: 2 s, then tripling up to 3 h
	Most    int           // attempts: 11, which take about 9 hours
}

func (l Limits) withDefaults() Limits {
	l.Hooks = cmp.Or(l.Hooks, 5)
	l.Devices = cmp.Or(l.Devices, 10)
	l.Jobs = cmp.Or(l.Jobs, 500)
	l.Attempt = cmp.Or(l.Attempt, 10*time.Second)
	l.First = cmp.Or(l.First, 2*time.Second)
	l.Most = cmp.Or(l.Most, 11)
	return l
}

// Notifier sends notifications. Call New; the hub and the host then call Derive and Judged; call
// Run once.
type Notifier struct {
	cfg  Config
	log  *slog.Logger
	seen seen
	live live
	post *poster

	prefs choices
	hooks sync.Mutex // held while a webhook or device is added

	pushKey atomic.Pointer[webpush.Key] // nil while it is locked

	wake chan struct{}

	mu      sync.Mutex
	inbox   []Notice
	loaded  map[string]bool   // notices read at start, which may still arrive
	waiting map[string]*batch // each person's next mail
	jobs    map[string]*job
	busy    map[string]bool // targets with a delivery in progress
}

// New returns a notifier with the choices that are stored.
func New(ctx context.Context, cfg Config) (*Notifier, error) {
	if cfg.Hub == nil || cfg.Host == nil || cfg.Store == nil || cfg.Person == nil || cfg.Short == nil ||
		cfg.ChatID == nil || cfg.Author == nil || cfg.Public == nil || cfg.Keys == nil || len(cfg.Key) < 32 {
		return nil, errors.New("notify: Config misses a part")
	}
	cfg.Limits = cfg.Limits.withDefaults()
	n := &Notifier{cfg: cfg, log: cmp.Or(cfg.Log, slog.New(slog.DiscardHandler)),
		post:  newPoster(cfg.Allow, cfg.Limits.Attempt),
		prefs: choices{byWho: map[string]choice{}},
		wake:  make(chan struct{}, 1), waiting: map[string]*batch{}, jobs: map[string]*job{}, busy: map[string]bool{}}
	return n, cfg.Store.Each(ctx, prefsBucket, n.prefs.apply)
}

// CanMail reports whether mail is set up.
func (n *Notifier) CanMail() bool { return n.cfg.Mailer != nil }

// Waiting counts pending notices, mails and jobs.
func (n *Notifier) Waiting() int {
	n.mu.Lock()
	defer n.mu.Unlock()
	return len(n.inbox) + len(n.waiting) + len(n.jobs)
}

// enqueueNotice adds a durable notice to the inbox.
func (n *Notifier) enqueueNotice(x Notice) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if !n.loaded[x.ID] {
		n.inbox = append(n.inbox, x)
		n.wakeRun()
	}
}

func (n *Notifier) wakeRun() {
	select {
	case n.wake <- struct{}{}:
	default: // a wake-up is pending
	}
}

// Run sends notifications until ctx ends, and then waits for deliveries in progress.
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
		n.sendDueMail(ctx)
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

// load reads the notices and jobs that were pending when the program ended.
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
		// it may have been written since the start
		if !slices.ContainsFunc(n.inbox, func(have Notice) bool { return have.ID == x.ID }) {
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

// each reads a bucket. Unreadable values are skipped: they could not be sent.
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

// next returns when the next work is due, at most an hour from now.
func (n *Notifier) next() time.Time {
	n.mu.Lock()
	defer n.mu.Unlock()
	at := time.Now().Add(time.Hour)
	for _, j := range n.jobs {
		if !n.busy[j.target()] && len(n.busy) < maxAtOnce { // other jobs wait for a delivery to end
			at = earlier(at, j.Due)
		}
	}
	if len(n.inbox) > 0 { // the journal refused it: try again soon
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
