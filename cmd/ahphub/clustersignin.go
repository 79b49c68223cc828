package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/ahphub/ahphub/hub/access"
	"github.com/ahphub/ahphub/web/gateway"
)

// `ahphub link` makes a token in the data directory of a node. The node that leads signs people in by what is in the log, so
// each hands its tokens over: each second, and before it passes on a form that may use one.

const (
	signInEvery = time.Second
	mostSignIns = 100 // as many as a directory keeps
)

func (n *node) keepSignIns(ctx context.Context) {
	for {
		if err := n.handSignIns(ctx); err != nil && ctx.Err() == nil {
			n.log.Debug("links to sign in were not handed over", "err", err)
		}
		select {
		case <-time.After(signInEvery):
		case <-ctx.Done():
			return
		}
	}
}

// handSignInsBefore hands them over before a form that may use one is passed on.
func (n *node) handSignInsBefore(r *http.Request) {
	if r.Method != http.MethodPost || r.URL.Path != "/signin" {
		return
	}
	if err := n.handSignIns(r.Context()); err != nil {
		n.log.Debug("links to sign in were not handed over", "err", err)
	}
}

// handSignIns hands this node's tokens to the one that leads.
func (n *node) handSignIns(ctx context.Context) error {
	if a := n.leading(); a != nil {
		ctx, cancel := context.WithTimeout(ctx, callTime)
		defer cancel()
		return a.signIns.TakeOwn(ctx)
	}
	own := access.SignIn{Dir: signInDir(n.cfg.Data)}
	list, err := own.Pending()
	leader := n.gateway.Leader()
	if err != nil || len(list) == 0 || leader == "" || leader == n.peers.Name() {
		return err
	}
	list = list[:min(len(list), mostSignIns)]
	body, err := json.Marshal(list)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, callTime)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://"+leader+"/signins", bytes.NewReader(body))
	if err != nil {
		return err
	}
	res, err := n.calls.RoundTrip(r)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	if res.StatusCode != http.StatusOK {
		return fmt.Errorf("%s answers %s", leader, res.Status)
	}
	for _, t := range list {
		err = errors.Join(err, own.Drop(t))
	}
	return err
}

// takeSignIns takes tokens of another node, while this one leads.
func (n *node) takeSignIns(w http.ResponseWriter, r *http.Request) {
	var list []access.Issued
	if err := json.NewDecoder(http.MaxBytesReader(w, r.Body, mostCall)).Decode(&list); err != nil || len(list) > mostSignIns {
		http.Error(w, "these are not tokens", http.StatusBadRequest)
		return
	}
	a := n.leading()
	if a == nil {
		http.Error(w, gateway.ErrNotLeading.Error(), http.StatusServiceUnavailable)
		return
	}
	if err := a.signIns.Take(r.Context(), list); err != nil {
		n.log.Warn("links to sign in of another node were not taken over", "err", err)
		http.Error(w, "they were not taken over", http.StatusServiceUnavailable)
	}
}
