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

const offerTime = 5 * time.Second // time limit for a node's answer about its keys

// offerKeys offers keys of secrets to all other nodes. They travel over mutual TLS, never through
// the log.
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

// acceptKeys accepts keys that the leader offers.
func (n *node) acceptKeys(offer []byte) ([]byte, error) {
	var o secret.Offer
	if err := json.Unmarshal(offer, &o); err != nil {
		return nil, errors.New("this is not an offer of keys") // err may quote keys
	}
	was := n.keys.ID()
	held, err := n.keys.Accept(o)
	if err != nil {
		n.log.Warn("cannot accept the leader's keys of secrets", "err", err)
		return nil, peers.Refuse(err)
	}
	if n.keys.ID() != was {
		n.log.Info("this node now encrypts secrets with another key", "key", n.keys.ID(), "file", n.keys.Source())
	}
	return json.Marshal(held)
}
