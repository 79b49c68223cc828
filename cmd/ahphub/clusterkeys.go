package main

import (
	"context"
	"encoding/json"
	"errors"
	"sync"
	"time"

	"github.com/ahphub/ahphub/hub/cluster/peers"
	"github.com/ahphub/ahphub/hub/secret"
)

const offerTime = 5 * time.Second // of a node, to answer about its keys

// offerKeys offers keys of secrets to all other nodes. They go from node to node by mutual TLS, and never into the log.
func (n *node) offerKeys(ctx context.Context, o secret.Offer) []secret.Copy {
	ctx, cancel := context.WithTimeout(ctx, offerTime)
	defer cancel()
	var copies []secret.Copy
	for _, m := range n.peers.Members() {
		if m.Name != n.peers.Name() {
			copies = append(copies, secret.Copy{Node: m.Name})
		}
	}
	body, err := json.Marshal(o)
	var wg sync.WaitGroup
	for i := range copies {
		wg.Go(func() {
			c := &copies[i]
			answer, failed := n.admin.Offer(ctx, c.Node, body)
			if c.Err = errors.Join(err, failed); c.Err == nil {
				c.Err = json.Unmarshal(answer, &c.Held)
			}
			if c.Err == nil && len(c.Held.IDs) == 0 {
				c.Err = errors.New("it has no keys")
			}
		})
	}
	wg.Wait()
	return copies
}

// takeKeys takes keys that the node that leads offers.
func (n *node) takeKeys(offer []byte) ([]byte, error) {
	var o secret.Offer
	if err := json.Unmarshal(offer, &o); err != nil {
		return nil, errors.New("this is no offer of keys") // the error may quote it
	}
	was := n.keys.ID()
	held, err := n.keys.Take(o)
	if err != nil {
		n.log.Warn("keys of secrets were not taken", "err", err)
		return nil, peers.Refuse(err)
	}
	if n.keys.ID() != was {
		n.log.Info("this node encrypts with another key of secrets now", "key", n.keys.ID(), "file", n.keys.Source())
	}
	return json.Marshal(held)
}
