package main

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/ahphub/ahphub/hub/cluster/manage"
	"github.com/ahphub/ahphub/hub/cluster/peers"
	"github.com/ahphub/ahphub/hub/secret"
)

// clusterCommand manages a node's cluster. Access to the data directory authenticates the owner.
type clusterCommand struct {
	Status   clusterStatusCommand   `cmd:"" help:"Show the nodes of the cluster, the leader, and how many nodes may fail."`
	Token    clusterTokenCommand    `cmd:"" help:"Print a token that lets one computer join the cluster. It works once."`
	Join     clusterJoinCommand     `cmd:"" help:"Make this computer a node of the cluster that created the token."`
	Transfer clusterTransferCommand `cmd:"" help:"Transfer leadership to another node."`
	Remove   clusterRemoveCommand   `cmd:"" help:"Remove a node permanently. The other nodes refuse its certificate from then on."`
	Leave    clusterLeaveCommand    `cmd:"" help:"Remove this node permanently. If it leads, it transfers leadership first."`
	Detach   clusterDetachCommand   `cmd:"" help:"Copy the data of a node into a new directory, for a separate server."`
}

// clusterNode selects the node.
type clusterNode struct {
	Data string `default:"${data}" placeholder:"DIR" help:"Data directory of a node on this computer. Default: ${default}."`
}

func (c clusterNode) call(e *environment, what string, in, out any) error {
	return manage.Call(e.ctx, c.Data, what, in, out)
}

type clusterStatusCommand struct {
	clusterNode `embed:""`

	JSON bool `name:"json" help:"Print JSON."`
}

// Run prints one line per node.
func (c clusterStatusCommand) Run(e *environment) error {
	var s manage.Status
	if err := c.call(e, "status", nil, &s); err != nil {
		return err
	}
	if c.JSON {
		enc := json.NewEncoder(e.stdout)
		enc.SetIndent("", "  ")
		return enc.Encode(s)
	}
	printLine(e.stdout, "cluster", s.Cluster)
	printLine(e.stdout, "leader", cmp.Or(s.Leader, "none"))
	w := tabwriter.NewWriter(e.stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "\nNODE\tADDRESS\tPART\tBEHIND\tCERTIFICATE\tVERSION\tPROBLEM")
	for _, n := range s.Nodes {
		part := "follows" // non-voter until it has been healthy for a while
		switch {
		case n.Leads:
			part = "leads"
		case n.Votes:
			part = "votes"
		case n.Reads:
			part = "reads"
		}
		behind, until := "?", "?"
		if n.Error == "" {
			behind, until = fmt.Sprint(n.Behind), "until "+n.Expires.Format(time.DateOnly)
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%s\t%s\n", n.ID, n.Address, part, behind, until, cmp.Or(n.Version, "?"), n.Error)
	}
	if err := w.Flush(); err != nil {
		return err
	}
	fmt.Fprintln(e.stdout)
	printLine(e.stdout, "may_fail", fmt.Sprint(s.Tolerates))
	c.warn(e, s.Warning)
	return nil
}

// warn prints a warning to standard error.
func (clusterNode) warn(e *environment, text string) {
	if text != "" {
		printLine(e.stderr, "warning", text+".")
	}
}

type clusterTokenCommand struct {
	clusterNode `embed:""`

	TTL string `name:"ttl" default:"1h" placeholder:"DURATION" help:"How long the token works, at most 24h. Default: ${default}."`
}

// Run prints a token, which gives access to everything in the cluster.
func (c clusterTokenCommand) Run(e *environment) error {
	life, err := time.ParseDuration(c.TTL)
	if err != nil {
		return wrongOption("ttl", c.TTL, "use a number with a unit, such as 30m or 2h")
	}
	var t manage.Token
	if err := c.call(e, "token", manage.Life{Life: life}, &t); err != nil {
		return err
	}
	printLine(e.stdout, "token", t.Token)
	return nil
}

type clusterJoinCommand struct {
	clusterNode `embed:""`

	Address string `placeholder:"HOST:PORT" help:"Address at which the other nodes reach this node, such as 10.0.0.2:8138."`
	Name    string `placeholder:"NAME" help:"Name of this node. Default: this computer's name."`
	Reads   bool   `help:"Follow and serve, but never vote or lead."`
	Token   string `arg:"" help:"Token from ahphub cluster token, or - to read it from standard input."`
}

// Run writes the files of a new node; ahphub serve --cluster then starts it.
func (c clusterJoinCommand) Run(e *environment) error {
	token := c.Token
	if token == "-" {
		b := make([]byte, 4096)
		n, err := os.Stdin.Read(b)
		if err != nil {
			return fmt.Errorf("cannot read the token: %w", err)
		}
		token = strings.TrimSpace(string(b[:n]))
	}
	if c.Address == "" {
		return errors.New("--address is missing: use the address at which the other nodes reach this node, " +
			"such as 10.0.0.2:8138")
	}
	if files, err := os.ReadDir(c.Data); len(files) > 0 || err != nil && !errors.Is(err, os.ErrNotExist) {
		return errors.Join(err, fmt.Errorf("%s already has data, which joining would replace. Name an empty directory with "+
			"--data", c.Data))
	}
	if err := os.MkdirAll(c.Data, 0o700); err != nil {
		return err
	}
	name := cmp.Or(c.Name, ownNodeName())
	if err := peers.Join(e.ctx, token, c.Data, name, c.Address, secret.KeyFile, c.Reads); err != nil {
		return err
	}
	n, err := peers.Open(c.Data)
	if err != nil {
		return err
	}
	printLine(e.stdout, "cluster", n.Cluster())
	printLine(e.stdout, "node", n.Name())
	if len(n.Members()) == 2 {
		c.warn(e, manage.TwoNodes)
	}
	printLine(e.stdout, "next", "ahphub serve --cluster --data "+c.Data)
	return nil
}

// isUsed reports whether a data directory has a database.
func isUsed(data string) (bool, error) {
	files, err := os.ReadDir(data)
	if errors.Is(err, os.ErrNotExist) {
		return false, nil
	}
	for _, f := range files {
		if strings.HasSuffix(f.Name(), ".db") {
			return true, nil
		}
	}
	return false, err
}

type clusterTransferCommand struct {
	clusterNode `embed:""`

	To string `placeholder:"NAME" help:"The next leader. Default: the node that is least behind."`
}

// Run transfers leadership and prints the new leader.
func (c clusterTransferCommand) Run(e *environment) error {
	var d manage.Done
	if err := c.call(e, "transfer", manage.Name{Name: c.To}, &d); err != nil {
		return err
	}
	printLine(e.stdout, "leader", d.Leader)
	return nil
}

type clusterRemoveCommand struct {
	clusterNode `embed:""`

	Name string `arg:"" help:"Name of the node, as ahphub cluster status shows it."`
}

// Run removes another node.
func (c clusterRemoveCommand) Run(e *environment) error {
	var d manage.Done
	if err := c.call(e, "remove", manage.Name{Name: c.Name}, &d); err != nil {
		return err
	}
	printLine(e.stdout, "removed", c.Name)
	c.warn(e, d.Warning)
	return nil
}

type clusterLeaveCommand struct {
	clusterNode `embed:""`
}

// Run removes the node of the data directory.
func (c clusterLeaveCommand) Run(e *environment) error {
	var d manage.Done
	if err := c.call(e, "leave", nil, &d); err != nil {
		return err
	}
	printLine(e.stdout, "left", "This computer is no longer a node of the cluster. Stop ahphub here, and delete "+c.Data+
		" before you join again.")
	c.warn(e, d.Warning)
	return nil
}
