package notify

import (
	"context"
	"encoding/json"
	"maps"
	"slices"
	"time"

	"github.com/ahphub/ahphub/hub"
	"github.com/ahphub/ahphub/hub/access"
	"github.com/ahphub/ahphub/hub/ahp"
)

// fanOut turns each notice into jobs and mail, in the step that deletes the notice: after a crash
// either the notice is there or all of its jobs are.
func (n *Notifier) fanOut(ctx context.Context) {
	for {
		n.mu.Lock()
		if len(n.inbox) == 0 {
			n.mu.Unlock()
			return
		}
		x := n.inbox[0]
		n.mu.Unlock()
		jobs, mails, err := n.reach(ctx, &x)
		if err == nil {
			err = n.cfg.Hub.Do(func(tx *hub.Tx) { n.commit(tx, x, jobs, mails) })
		}
		if err != nil {
			n.log.WarnContext(ctx, "cannot queue a notification yet; retrying", "kind", x.Kind, "err", err)
			return
		}
		n.mu.Lock()
		n.inbox = n.inbox[1:]
		n.mu.Unlock()
		if time.Since(x.At) < stale {
			n.live.tell(x)
		}
	}
}

// letters maps the owners of mailboxes that a notice goes to to the time it is due.
type letters map[string]time.Time

// commit writes the step; its results take effect once it is durable.
func (n *Notifier) commit(tx *hub.Tx, x Notice, jobs []*job, mails letters) {
	tx.Record(noticeBucket, x.ID, nil)
	raw, err := json.Marshal(x)
	if err != nil {
		return // cannot happen: it was read from JSON
	}
	maps.DeleteFunc(mails, func(who string, _ time.Time) bool { return n.isFull(who) })
	for who := range mails {
		tx.Record(mailBucket, mailKey(who, x.ID), raw)
	}
	n.record(tx, jobs...)
	tx.Effect("notify", func(context.Context) {
		n.mu.Lock()
		for who, due := range mails {
			n.toMail(who, x, due)
		}
		n.mu.Unlock()
		n.addJobs(jobs)
	})
}

func (n *Notifier) addJobs(jobs []*job) {
	n.mu.Lock()
	for _, j := range jobs {
		n.jobs[j.key] = j
	}
	n.mu.Unlock()
	n.wakeRun()
}

// reach returns the deliveries of a notice: jobs for webhooks and devices, and the due times of
// mailboxes by owner.
func (n *Notifier) reach(ctx context.Context, x *Notice) (jobs []*job, mails letters, err error) {
	hooks, err := n.allHooks(ctx)
	if err != nil {
		return nil, nil, err
	}
	for _, h := range hooks {
		told, ok := *x, h.Everything
		if !ok {
			if told, _, ok, err = n.hears(ctx, h.Owner, Webhook, x); err != nil {
				return nil, nil, err
			}
		}
		if ok && h.Gone == "" {
			jobs = append(jobs, hookJob(h.ID, told))
		}
	}
	devices, err := n.allDevices(ctx)
	if err != nil {
		return nil, nil, err
	}
	for _, d := range devices {
		told, _, ok, err := n.hears(ctx, d.Owner, Browser, x)
		if err != nil {
			return nil, nil, err
		}
		if ok {
			jobs = append(jobs, deviceJob(d.ID, told))
		}
	}
	mails = letters{}
	for _, who := range x.To {
		if x.Brief {
			break
		}
		_, p, ok, err := n.hears(ctx, who, Mail, x)
		if err != nil {
			return nil, nil, err
		}
		if ok && n.CanMail() && p.Mail.Verified {
			mails[who] = p.Mail.due(x.At)
		}
	}
	return jobs, mails, nil
}

// hears reports whether an account gets a notice through a channel other than an open page, and
// returns the notice as that account sees it.
func (n *Notifier) hears(ctx context.Context, who string, c Channel, x *Notice) (Notice, Prefs, bool, error) {
	if !slices.Contains(x.To, who) {
		return *x, Prefs{}, false, nil // true for most notices: skip the lookup of the person
	}
	p, ok := n.account(who, x.uri())
	told, is := x.For(p)
	if !ok || !is {
		return told, Prefs{}, false, nil
	}
	prefs, err := n.Prefs(who)
	return told, prefs, err == nil && prefs.Hears(c, x), err
}

func (n *Notifier) account(who string, session ahp.URI) (access.Principal, bool) {
	p, ok := n.cfg.Person(who, session)
	return p, ok && p.HasAccount()
}
