package notify

import (
	"fmt"
	"time"

	"github.com/ahphub/ahphub/hub"
	"github.com/ahphub/ahphub/hub/access"
	"github.com/ahphub/ahphub/hub/ahp"
	"github.com/ahphub/ahphub/hub/texts"
)

// Absence reports a machine that is disconnected from running turns, or has reconnected.
type Absence struct {
	ID, Name string // of the machine
	Since    time.Time
	Back     bool
	Sessions []ahp.URI
}

// MachineAway notifies the owner and the people of each session that its machine is disconnected,
// or has reconnected. The owner gets one notice for all of the machine's sessions.
func (n *Notifier) MachineAway(tx *hub.Tx, a Absence) {
	now := time.Now()
	name := texts.ElideRunes(clean(a.Name), 40)
	x := Notice{Kind: Machine, Title: name + " is offline", Text: "Running turns continue if " + name + " is back within ten minutes"}
	if a.Back {
		x.Title, x.Text = name+" is back", "It was away for "+formatDuration(now.Sub(a.Since))
	}
	cause := fmt.Sprint(a.ID, a.Since.UnixNano(), a.Back)
	owner := access.Owner("").ID
	if len(a.Sessions) > 1 {
		all := x
		all.ID, all.About = id(Machine, cause), hub.ChannelInfo{URI: ahp.RootURI, Kind: ahp.ChannelRoot}
		all.Short, all.Session = "machine-"+a.ID, fmt.Sprintf("%d sessions", len(a.Sessions))
		all.Path, all.To = "/machines", []string{owner}
		n.put(tx, now, all)
	}
	for _, session := range a.Sessions {
		one := x
		one.ID, one.About = id(Machine, cause+session), hub.ChannelInfo{URI: session, Kind: ahp.ChannelSession, Session: session}
		one.Path, one.To = "/s/"+n.cfg.Short(session), n.visitors(one.About)
		if len(a.Sessions) > 1 {
			one.To = except(one.To, owner)
		}
		if len(one.To) > 0 {
			n.put(tx, now, one)
		}
	}
}
