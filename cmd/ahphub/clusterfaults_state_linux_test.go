package main

import (
	"bufio"
	"crypto/sha256"
	"database/sql"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/ahphub/ahphub/e2e/history"
)

// state waits until all nodes have applied the same entries, and returns what they have.
func (c *trialNodes) state() history.Nodes {
	c.Helper()
	var nodes history.Nodes
	var last error
	before := map[string]int64{}
	for began := time.Now(); time.Since(began) < time.Minute; <-time.After(100 * time.Millisecond) {
		nodes, last = history.Nodes{}, nil
		for _, n := range c.list {
			db, err := openState(n.data)
			if err != nil {
				last = errors.Join(last, err)
				continue
			}
			before[n.name], err = appliedOf(db)
			last = errors.Join(last, err, db.Close())
		}
		if last != nil || before["a"] != before["b"] || before["b"] != before["c"] {
			continue
		}
		same := true
		for _, n := range c.list {
			state, err := readState(n.data)
			last = errors.Join(last, err)
			same = same && state.Applied == before[n.name]
			nodes[n.name] = state
		}
		if same && last == nil {
			return nodes
		}
	}
	for name, applied := range before {
		c.Logf("%s has applied %d", name, applied)
	}
	for _, n := range c.list {
		if !n.isDead() {
			c.Logf("the cluster as %s sees it:\n%s", n.name, c.command(n, "cluster", "status", "--data", n.data))
		}
	}
	c.Fatalf("the nodes never have the same: %v", last)
	return nil
}

func openState(data string) (*sql.DB, error) {
	return sql.Open("sqlite", "file:"+filepath.Join(data, "ahphub.db")+"?_pragma=busy_timeout(5000)&_pragma=query_only(1)")
}

type queryer interface {
	QueryRow(query string, args ...any) *sql.Row
	Query(query string, args ...any) (*sql.Rows, error)
}

func appliedOf(db queryer) (n int64, err error) {
	err = db.QueryRow("SELECT value FROM meta WHERE key='applied'").Scan(&n)
	return n, err
}

// readState reads a consistent state from the database of a data directory.
func readState(data string) (n history.Node, err error) {
	db, err := openState(data)
	if err != nil {
		return n, err
	}
	defer db.Close()
	tx, err := db.Begin()
	if err != nil {
		return n, err
	}
	defer tx.Rollback()
	if n.Applied, err = appliedOf(tx); err != nil {
		return n, err
	}
	rows, err := tx.Query("SELECT e.seq, c.uri, e.action, coalesce(e.principal, ''), coalesce(e.client, ''), coalesce(e.client_seq, 0) " +
		"FROM envelopes e JOIN channels c ON c.id=e.channel ORDER BY e.seq")
	if err != nil {
		return n, err
	}
	for rows.Next() {
		var r history.Row
		var principal string
		if err := rows.Scan(&r.Seq, &r.Channel, &r.Action, &principal, &r.Client, &r.ClientSeq); err != nil {
			return n, err
		}
		n.Rows = append(n.Rows, r)
	}
	if err := rows.Err(); err != nil {
		return n, err
	}
	if n.Floors, err = readFloors(tx); err != nil {
		return n, err
	}
	n.Rest = map[string]string{}
	for what, query := range map[string]string{
		"answer":  "SELECT client || ' ' || client_seq, seq || ' ' || channel || ' ' || at FROM answers",
		"doc":     "SELECT bucket || ' ' || key, value || ' ' || at FROM docs",
		"channel": "SELECT uri, id || ' ' || kind || ' ' || session || ' ' || chat || ' ' || last FROM channels",
		"meta":    "SELECT key, value FROM meta",
		"audit":   "SELECT n, entry || hex(hash) FROM audit",
		"blob":    "SELECT id, data FROM blobs",
	} {
		if err := readRest(tx, what, query, n.Rest); err != nil {
			return n, err
		}
	}
	for name := range n.Rest {
		if uri, ok := strings.CutPrefix(name, "channel "); ok {
			n.Channels = append(n.Channels, uri)
		}
	}
	return n, nil
}

func readFloors(db queryer) (map[string]int64, error) {
	rows, err := db.Query("SELECT uri, floor FROM channels")
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	floors := map[string]int64{}
	for rows.Next() {
		var uri string
		var floor int64
		if err := rows.Scan(&uri, &floor); err != nil {
			return nil, err
		}
		floors[uri] = floor
	}
	return floors, rows.Err()
}

func readRest(db queryer, what, query string, into map[string]string) error {
	rows, err := db.Query(query)
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		var key string
		var value []byte
		if err := rows.Scan(&key, &value); err != nil {
			return err
		}
		sum := sha256.Sum256(value)
		into[what+" "+key] = hex.EncodeToString(sum[:12])
	}
	return rows.Err()
}

// startedTurns returns the turns whose commands started.
func (l *trialLoad) startedTurns() (list []string) {
	f, err := os.Open(l.effects)
	if err != nil {
		return nil
	}
	defer f.Close()
	for scan := bufio.NewScanner(f); scan.Scan(); {
		list = append(list, scan.Text())
	}
	return list
}

// check compares everything recorded with what the nodes have, and returns the differences.
func (l *trialLoad) check() []string {
	l.nodes.Helper()
	nodes := l.nodes.state()
	found := l.Check(nodes, l.startedTurns())
	for _, client := range append(slices.Clone(l.clients), l.blind) {
		for _, v := range client.peer.Violations() {
			found = append(found, fmt.Sprintf("delivery: %s: %s", client.name, v))
		}
	}
	return found
}
