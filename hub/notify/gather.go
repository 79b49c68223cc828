package notify

import (
	"context"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/ahphub/ahphub/hub"
	"github.com/ahphub/ahphub/hub/ahp"
)

const (
	mailBucket  = "notify-mail"
	maxInMail   = 100
	maxGathered = 1000 // notices in one mail
)

// batch is a person's next mail.
type batch struct {
	due     time.Time
	notices []Notice
}

func mailKey(who, notice string) string { return who + "/" + notice }

func mailboxOf(key string) string { return key[:max(0, strings.LastIndexByte(key, '/'))] }

// isFull reports whether a mailbox is full until its next mail; the hub's lock may be held.
func (n *Notifier) isFull(who string) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	b := n.waiting[who]
	return b != nil && len(b.notices) >= maxGathered
}

// toMail adds a notice to the next mail; the first notice sets its due time. n.mu is held.
func (n *Notifier) toMail(who string, x Notice, due time.Time) {
	b := n.waiting[who]
	if b == nil {
		b = &batch{due: due}
		n.waiting[who] = b
	}
	b.notices = append(b.notices, x)
}

// Reschedule moves a person's next mail according to their rhythm.
func (n *Notifier) Reschedule(ctx context.Context, who string) error {
	p, err := n.Prefs(who)
	if err != nil {
		return err
	}
	n.mu.Lock()
	if b := n.waiting[who]; b != nil {
		b.due = p.Mail.due(b.notices[0].At)
	}
	n.mu.Unlock()
	n.wakeRun()
	return nil
}

// forgetMail drops a person's next mail.
func (n *Notifier) forgetMail(who string) {
	if b := n.takeMail(who); b != nil {
		n.dropMail(context.Background(), who, b, nil)
	}
}

func (n *Notifier) takeMail(who string) *batch {
	n.mu.Lock()
	defer n.mu.Unlock()
	b := n.waiting[who]
	delete(n.waiting, who)
	return b
}

// sendDueMail creates jobs for due batches.
func (n *Notifier) sendDueMail(ctx context.Context) {
	n.mu.Lock()
	var due []string
	for who, b := range n.waiting {
		if !b.due.After(time.Now()) {
			due = append(due, who)
		}
	}
	n.mu.Unlock()
	for _, who := range due {
		b := n.takeMail(who)
		if b == nil {
			continue
		}
		j, err := n.mailJob(ctx, who, b)
		if err != nil {
			n.log.WarnContext(ctx, "cannot prepare a mail yet; retrying", "to", who, "err", err)
			n.putBack(who, b)
			continue
		}
		n.dropMail(ctx, who, b, j)
	}
}

// dropMail removes a batch from the store in the step that writes its job.
func (n *Notifier) dropMail(ctx context.Context, who string, b *batch, j *job) {
	err := n.cfg.Hub.Do(func(tx *hub.Tx) {
		for i := range b.notices {
			tx.Record(mailBucket, mailKey(who, b.notices[i].ID), nil)
		}
		if j != nil {
			n.record(tx, j)
			tx.Effect("notify", func(context.Context) { n.addJobs([]*job{j}) })
		}
	})
	if err != nil {
		n.log.WarnContext(ctx, "cannot queue a mail yet; retrying", "to", who, "err", err)
		n.putBack(who, b)
	}
}

// putBack schedules another attempt in a second, including notices that arrived since.
func (n *Notifier) putBack(who string, b *batch) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if now := n.waiting[who]; now != nil {
		b.notices = append(b.notices, now.notices...)
	}
	b.due = time.Now().Add(time.Second)
	n.waiting[who] = b
}

// mailJob returns the mail of a batch, without notices that were answered, muted or switched off
// since; nil when none is left.
func (n *Notifier) mailJob(ctx context.Context, who string, b *batch) (*job, error) {
	p, err := n.Prefs(who)
	if err != nil {
		return nil, err
	}
	var left []Notice
	for _, x := range b.notices {
		person, ok := n.account(who, x.uri())
		if x, told := x.For(person); ok && told && p.Hears(Mail, &x) && !n.isAnswered(&x) {
			left = append(left, x)
		}
	}
	if len(left) == 0 || !p.Mail.Verified {
		return nil, nil
	}
	more := max(0, len(left)-maxInMail)
	return &job{key: "mail/" + mailKey(who, left[0].ID), Who: who, Notices: left[more:], More: more,
		Due: time.Now().UTC()}, nil
}

// isAnswered reports whether the request of a notice was answered. It returns false while the
// session sleeps.
func (n *Notifier) isAnswered(x *Notice) bool {
	s, ok := hub.StateOf[*ahp.SessionState](n.cfg.Hub, x.uri())
	if x.Waits == "" || !ok {
		return false
	}
	return !slices.ContainsFunc(s.InputNeeded, func(r ahp.SessionInputRequest) bool { return requestID(r) == x.Waits })
}

func requestID(r ahp.SessionInputRequest) string {
	switch v := r.Value.(type) {
	case *ahp.SessionChatInputRequest:
		return v.ID
	case *ahp.SessionToolConfirmationRequest:
		return v.ID
	case *ahp.SessionToolAuthenticationRequest:
		return v.ID
	}
	return ""
}

// loadMail reads the batches that were pending when the program ended.
func (n *Notifier) loadMail(ctx context.Context) error {
	kept, err := each[Notice](ctx, n.cfg.Store, mailBucket)
	if err != nil {
		return err
	}
	keys := slices.SortedFunc(maps.Keys(kept), func(a, b string) int { return kept[a].At.Compare(kept[b].At) })
	for _, key := range keys {
		who := mailboxOf(key)
		p, err := n.Prefs(who)
		if err != nil {
			return err
		}
		n.mu.Lock()
		n.toMail(who, kept[key], p.Mail.due(kept[key].At))
		n.mu.Unlock()
	}
	return nil
}
