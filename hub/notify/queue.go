package notify

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"github.com/ahphub/ahphub/hub"
)

const (
	jobBucket    = "notify-job"
	resultBucket = "notify-result"

	maxAtOnce   = 4 // concurrent deliveries, each to another target
	longestWait = 3 * time.Hour
)

// job is one delivery of a notice to a webhook or device, or of a mail.
type job struct {
	key      string
	Hook     string    `json:"hook,omitempty"`   // to this webhook
	Device   string    `json:"device,omitempty"` // or to this device
	Who      string    `json:"who,omitempty"`    // or to this person's mailbox
	Notices  []Notice  `json:"notices,omitempty"`
	More     int       `json:"more,omitempty"` // notices that do not fit into the mail
	Code     string    `json:"code,omitempty"` // the mail that verifies an address
	Address  string    `json:"address,omitempty"`
	Attempts int       `json:"attempts,omitempty"`
	Due      time.Time `json:"due"`
}

// target returns the receiver; deliveries to one target run one after another.
func (j *job) target() string {
	switch {
	case j.Hook != "":
		return j.Hook
	case j.Device != "":
		return (&Device{ID: j.Device}).target()
	}
	return "mail:" + j.Who
}

// Result is the result of the last delivery to a target.
type Result struct {
	At       time.Time `json:"at"`
	OK       bool      `json:"ok"`
	Text     string    `json:"text"`               // a sentence
	Attempts int       `json:"attempts,omitempty"` // until now
	Again    time.Time `json:"again,omitzero"`     // the next attempt; zero: none
}

// final is a failure that a retry would not change.
type final struct{ error }

// later is a failure with a retry time set by the receiver.
type later struct {
	error
	wait time.Duration
}

// record writes jobs, and drops the oldest jobs of a full target.
func (n *Notifier) record(tx *hub.Tx, jobs ...*job) {
	for _, j := range jobs {
		raw, err := json.Marshal(j)
		if err != nil {
			n.log.Error("cannot queue a notification", "to", j.target(), "err", err)
			continue
		}
		tx.Record(jobBucket, j.key, raw)
		n.shed(tx, j.target())
	}
}

func (n *Notifier) shed(tx *hub.Tx, target string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	var waiting []*job
	for _, j := range n.jobs {
		if j.target() == target {
			waiting = append(waiting, j)
		}
	}
	if len(waiting) < n.cfg.Limits.Jobs {
		return
	}
	oldest := slices.MinFunc(waiting, func(a, b *job) int { return a.arrival().Compare(b.arrival()) })
	delete(n.jobs, oldest.key)
	tx.Record(jobBucket, oldest.key, nil)
	n.log.Warn("too many notifications wait for a receiver; dropped the oldest", "to", target)
}

func (j *job) arrival() time.Time {
	if len(j.Notices) > 0 {
		return j.Notices[0].At
	}
	return j.Due
}

// enqueue writes a job, which is sent once it is durable.
func (n *Notifier) enqueue(j *job) error {
	return n.cfg.Hub.Do(func(tx *hub.Tx) {
		n.record(tx, j)
		tx.Effect("notify", func(context.Context) { n.addJobs([]*job{j}) })
	})
}

// sendDue starts the due jobs, the oldest of each target first.
func (n *Notifier) sendDue(ctx context.Context, sending *sync.WaitGroup) {
	n.mu.Lock()
	defer n.mu.Unlock()
	var due []*job
	for _, j := range n.jobs {
		if !j.Due.After(time.Now()) {
			due = append(due, j)
		}
	}
	slices.SortFunc(due, func(a, b *job) int {
		return cmp.Or(a.Due.Compare(b.Due), a.arrival().Compare(b.arrival()), cmp.Compare(a.key, b.key))
	})
	for _, j := range due {
		if t := j.target(); !n.busy[t] && len(n.busy) < maxAtOnce {
			n.busy[t] = true
			sending.Go(func() { n.try(ctx, j) })
		}
	}
}

// try makes one attempt and records its result.
func (n *Notifier) try(ctx context.Context, j *job) {
	to, cancel := context.WithTimeout(ctx, n.cfg.Limits.Attempt)
	text, err := n.deliver(to, j)
	cancel()
	if err != nil && ctx.Err() != nil { // shutdown: not counted as an attempt
		n.free(j)
		return
	}
	next := *j
	next.Attempts++
	res := Result{At: time.Now().UTC(), OK: err == nil, Text: text, Attempts: next.Attempts}
	if err != nil {
		res.Text = err.Error()
		if wait, again := n.wait(next.Attempts, err); again {
			next.Due = time.Now().Add(wait).UTC()
			res.Again = next.Due
		}
		n.log.Log(ctx, levelOf(res), "a notification was not delivered", "to", j.target(), "attempt", next.Attempts,
			"err", err)
	}
	n.settle(ctx, j, next, res)
}

// wait returns the time until the next attempt; false for none.
func (n *Notifier) wait(attempts int, err error) (time.Duration, bool) {
	if _, never := errors.AsType[final](err); never || attempts >= n.cfg.Limits.Most {
		return 0, false
	}
	wait := backoff(n.cfg.Limits.First, attempts)
	if l, says := errors.AsType[later](err); says {
		wait = max(wait, min(l.wait, longestWait))
	}
	return wait, true
}

// backoff triples with each attempt, up to longestWait, plus up to a quarter, so that receivers
// that were down do not get everything at once.
func backoff(first time.Duration, attempts int) time.Duration {
	wait := first
	for range attempts - 1 {
		if wait = 3 * wait; wait >= longestWait {
			wait = longestWait
			break
		}
	}
	return wait + time.Duration(rand.Int64N(int64(wait)/4+1))
}

// settle records the result of a job. A crash before it is durable sends the job again.
func (n *Notifier) settle(ctx context.Context, j *job, next job, res Result) {
	n.mu.Lock()
	still := n.jobs[j.key] == j
	n.mu.Unlock()
	if !still { // removed, or replaced by a newer job
		n.free(j)
		return
	}
	over := res.Again.IsZero()
	err := n.cfg.Hub.Do(func(tx *hub.Tx) {
		if raw, err := json.Marshal(res); err == nil {
			tx.Record(resultBucket, j.target(), raw)
		}
		if over {
			tx.Record(jobBucket, j.key, nil)
		} else if raw, err := json.Marshal(next); err == nil {
			tx.Record(jobBucket, j.key, raw)
		}
	})
	if err != nil { // the journal is not writable; until it is, the result in memory counts
		n.log.WarnContext(ctx, "cannot save the result of a notification", "to", j.target(), "err", err)
	}
	n.mu.Lock()
	if over {
		delete(n.jobs, j.key)
	} else {
		j.Attempts, j.Due = next.Attempts, next.Due
	}
	n.mu.Unlock()
	n.free(j)
}

func levelOf(r Result) slog.Level {
	if r.Again.IsZero() {
		return slog.LevelWarn
	}
	return slog.LevelInfo
}

func (n *Notifier) free(j *job) {
	n.mu.Lock()
	delete(n.busy, j.target())
	n.mu.Unlock()
	n.wakeRun()
}

// deliver sends a job and returns a description of the success.
func (n *Notifier) deliver(ctx context.Context, j *job) (string, error) {
	switch {
	case j.Hook != "":
		return n.deliverHook(ctx, j)
	case j.Device != "":
		return n.deliverDevice(ctx, j)
	}
	return n.deliverMail(ctx, j)
}

// last returns the result of the last delivery to a target; false when there was none.
func (n *Notifier) last(ctx context.Context, target string) (Result, bool) {
	var r Result
	raw, found, err := n.cfg.Store.Get(ctx, resultBucket, target)
	return r, err == nil && found && json.Unmarshal(raw, &r) == nil
}
