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

	Account    bool   // they may have devices, mail and webhooks
	Pushed     bool   // push messages come to this browser
	PushKey    string // what browsers subscribe to; "": it is locked
	Devices    []NotifyDevice
	PushError  string
	Owner      bool // and webhooks of the whole host
	CanMail    bool // the host sends mail
	Mail       NotifyMail
	MailError  string
	Hooks      []NotifyHook
	HookError  string
	HookURL    string // as it was typed
	HookFormat string // as it was chosen
	Secret     string // of the webhook that was just made; shown once
}

// NotifyKind is a row of the table: a kind of event, and its channels.
type NotifyKind struct {
	Kind string
	On   map[string]bool // by channel
}

// NotifyMail is where mail goes and when.
type NotifyMail struct {
	Address  string
	Verified bool
	Typed    string // an address as it was typed and refused
	Rhythm   string // "", "hourly", "daily"
	At, Zone string
	Last     *NotifyResult
}

// NotifyHook is a webhook; its secret is not shown again.
type NotifyHook struct {
	ID, Where  string
	Everything bool
	Format     string // "": signed JSON
	Gone       string // why nothing is sent any more
	Created    time.Time
	Last       *NotifyResult
}

// NotifyDevice is a browser that push messages are sent to.
type NotifyDevice struct {
	ID, Agent string
	This      bool
	Last      *NotifyResult
}

// name is what people call a device.
func (d *NotifyDevice) name() string {
	b := Browser{Agent: d.Agent}
	return b.kind()
}

// NotifyResult is how the last delivery ended.
type NotifyResult struct {
	At, Again time.Time
	OK        bool
	Text      string
}

// NotifyMuted is a session that a person muted.
type NotifyMuted struct{ Short, Title string }

// Unsubscribe is where the link in a mail leads.
type Unsubscribe struct {
	Frame   part.Frame
	Action  string // what the button posts to
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

// formatNames are the names of the formats of webhooks that people choose for a service.
var formatNames = map[string]string{"slack": "Slack", "ntfy": "ntfy"}
