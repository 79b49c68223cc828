package notify

import (
	"fmt"
	"time"

	"github.com/ahphub/ahphub/hub"
	"github.com/ahphub/ahphub/hub/access"
	"github.com/ahphub/ahphub/hub/ahp"
	"github.com/ahphub/ahphub/hub/texts"
)

// NodeAbsence reports a node of the cluster that is down, or has returned.
type NodeAbsence struct {
	Name      string
	Since     time.Time
	Back      bool
	Tolerates int // how many more nodes may fail now
}

// NodeAway notifies the owner that a node is down, or has returned.
func (n *Notifier) NodeAway(tx *hub.Tx, a NodeAbsence) {
	now := time.Now()
	name := texts.ElideRunes(clean(a.Name), 40)
	x := Notice{Kind: Machine, ID: id(Machine, fmt.Sprint("node ", a.Name, a.Since.UnixNano(), a.Back)),
		About: hub.ChannelInfo{URI: ahp.RootURI, Kind: ahp.ChannelRoot}, Short: "node-" + a.Name, Session: "Cluster",
		Path: "/nodes", To: []string{access.Owner("").ID},
		Title: "Node " + name + " is down", Text: tolerance(a.Tolerates)}
	if a.Back {
		x.Title, x.Text = "Node "+name+" is back", "It was down for "+formatDuration(now.Sub(a.Since))
	}
	n.put(tx, now, x)
}

// tolerance describes how many more nodes may fail.
func tolerance(more int) string {
	switch more {
	case 0:
		return "If one more node fails, nothing can be read or written"
	case 1:
		return "The cluster can lose one more node"
	}
	return fmt.Sprintf("The cluster can lose %d more nodes", more)
}
