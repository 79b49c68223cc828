package page

import (
	"strings"
	"time"

	"github.com/ahphub/ahphub/templ/part"
)

// Notifications are a person's choices of events and channels.
type Notifications struct {
	Frame    part.Frame
	Now      time.Time
	Here     bool // on in this browser
	Paused   bool
	Channels []string // "browser", and with an account "mail" and "webhook"
	Kinds    []NotifyKind
	Muted    []NotifyMuted

	Account    bool   // they can have devices, mail and webhooks
	Pushed     bool   // this browser gets push messages
	PushKey    string // key for browser subscriptions; "": it is locked
	Devices    []NotifyDevice
	PushError  string
	Owner      bool // may create webhooks for the whole host
	CanMail    bool // the host can send mail
	Mail       NotifyMail
	MailError  string
	Hooks      []NotifyHook
	HookError  string
	HookURL    string // as entered
	HookFormat string // as chosen
	Secret     string // of the new webhook; shown once
}

// NotifyKind is a row of the table: a kind of event and its channels.
type NotifyKind struct {
	Kind string
	On   map[string]bool // by channel
}

// NotifyMail is the mail address and schedule.
type NotifyMail struct {
	Address  string
	Verified bool
	Typed    string // a refused address, as entered
	Rhythm   string // "", "hourly", "daily"
	At, Zone string
	Last     *NotifyResult
}

// NotifyHook is a webhook, without its secret, which is shown once.
type NotifyHook struct {
	ID, Where  string
	Everything bool
	Format     string // "": signed JSON
	Gone       string // why it was turned off
	Created    time.Time
	Last       *NotifyResult
}

// NotifyDevice is a browser that gets push messages.
type NotifyDevice struct {
	ID, Agent string
	This      bool
	Last      *NotifyResult
}

// name returns a device's display name.
func (d *NotifyDevice) name() string {
	b := Browser{Agent: d.Agent}
	return b.kind()
}

// NotifyResult is the result of the last delivery.
type NotifyResult struct {
	At, Again time.Time
	OK        bool
	Text      string
}

// NotifyMuted is a session that the person muted.
type NotifyMuted struct{ Short, Title string }

// Unsubscribe is the page of the link in a mail.
type Unsubscribe struct {
	Frame   part.Frame
	Action  string // target of the button
	Address string
	Done    bool
	Error   string
}

var notifyWords = map[string][2]string{
	"approval": {"Approval needed", "an agent is waiting for your approval"},
	"question": {"Questions", "an agent is asking you something"},
	"failed":   {"Failures", "a turn ended with an error"},
	"finished": {"Finished", "a turn ended and nothing is queued"},
	"mention":  {"Mentions", "someone mentioned you in a comment"},
	"comment":  {"Comments", "in your sessions or threads you've joined"},
	"verdict":  {"Reviews", "someone approved or requested changes"},
	"machine":  {"Machines", "a machine with a running turn or a node of the cluster is offline, or back"},
}

var channelWords = map[string]string{"browser": "Browser", "mail": "Email", "webhook": "Webhook"}

func (r *NotifyResult) words(now time.Time) string {
	text := r.Text
	if text != "" && !strings.HasSuffix(text, ".") {
		text += "."
	}
	if !r.Again.IsZero() {
		when := "now"
		if wait := r.Again.Sub(now).Round(time.Second); wait > 0 {
			when = "in " + wait.String()
		}
		text += " Retrying " + when + "."
	}
	return text
}

var rhythms = [][2]string{{"", "immediately"}, {"hourly", "every hour"}, {"daily", "every day at"}}

// formatNames are the display names of webhook formats for services.
var formatNames = map[string]string{"slack": "Slack", "ntfy": "ntfy"}
