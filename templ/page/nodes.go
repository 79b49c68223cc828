package page

import (
	"strconv"
	"strings"
	"time"

	"github.com/ahphub/ahphub/templ/part"
)

// Nodes are the nodes of a cluster, as the owner sees them.
type Nodes struct {
	Frame part.Frame
	List  NodeList
}

// NodeList is what changes while the page is open.
type NodeList struct {
	Nodes     []Node
	Tolerates int    // how many more nodes that vote may fail
	Warning   string // about the number of nodes, or their keys; "" is none
}

// Node is one of them.
type Node struct {
	Name, Address string
	Leads         bool
	Joining       bool // it will vote once it has been healthy for a while
	Reads         bool // it never votes or leads
	Behind        int  // entries of the log that it lacks, when they are many
	Version       string
	Update        bool      // the leader has another version
	Expires       time.Time // its certificate; zero is unknown
	Problem       string    // why it doesn't answer; "" when it does
}

var nodeCommands = [][2]string{
	{"Add a node", "ahphub cluster token"},
	{"Make another node lead", "ahphub cluster transfer --to NAME"},
	{"Remove a node for good", "ahphub cluster remove NAME"},
	{"Show all details", "ahphub cluster status"},
}

// isWarning reports whether someone should do something about the cluster.
func (m *NodeList) isWarning() bool { return m.Warning != "" || m.Tolerates == 0 }

// summary says how many nodes are up, and how many more may fail.
func (m *NodeList) summary() string {
	if len(m.Nodes) == 0 {
		return "Checking the nodes…"
	}
	up := 0
	for _, n := range m.Nodes {
		if n.Problem == "" {
			up++
		}
	}
	text := strconv.Itoa(up) + " of " + countOf(len(m.Nodes), "node") + " up. "
	switch m.Tolerates {
	case 0:
		text += "If one more fails, nothing can be read or written."
	case 1:
		text += "One more may fail."
	default:
		text += strconv.Itoa(m.Tolerates) + " more may fail."
	}
	if m.Warning != "" {
		text += " " + m.Warning
	}
	return text
}

// details describes the node.
func (n *Node) details() string {
	words := []string{n.Address}
	if n.Problem == "" {
		if n.Behind > 0 {
			words = append(words, part.Count(n.Behind)+" log entries behind")
		} else if !n.Leads {
			words = append(words, "Up to date")
		}
		words = append(words, "ahphub "+n.Version, "Certificate valid until "+n.Expires.UTC().Format("2 Jan 2006"))
	}
	return strings.Join(words, " · ")
}
