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

// NodeList is the part that live patches replace.
type NodeList struct {
	Nodes     []Node
	Tolerates int    // how many more voting nodes may fail
	Warning   string // about the number of nodes, or their keys; "" for none
}

// Node is one node.
type Node struct {
	Name, Address string
	Leads         bool
	Joining       bool // it will vote after being healthy for a while
	Reads         bool // it never votes or leads
	Behind        int  // missing entries of the log, if many
	Version       string
	Update        bool      // the leader's version differs
	Expires       time.Time // expiry of its certificate; zero if unknown
	Problem       string    // why it doesn't answer; "" if it does
}

var nodeCommands = [][2]string{
	{"Add a node", "ahphub cluster token"},
	{"Make another node lead", "ahphub cluster transfer --to NAME"},
	{"Remove a node for good", "ahphub cluster remove NAME"},
	{"Show all details", "ahphub cluster status"},
}

// isWarning reports whether the cluster needs attention.
func (m *NodeList) isWarning() bool { return m.Warning != "" || m.Tolerates == 0 }

// summary describes how many nodes are up, and how many more may fail.
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
