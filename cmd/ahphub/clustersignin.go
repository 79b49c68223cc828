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

// `ahphub link` creates a token in the data directory of a node. The leader checks tokens in the
// log, so each node sends its tokens to the leader: every second, and before it passes on a form
// that may use one.

const (
	signInEvery = time.Second
	mostSignIns = 100 // limit of a directory
)

func (n *node) keepSignIns(ctx context.Context) {
	for {
		if err := n.sendSignIns(ctx); err != nil && ctx.Err() == nil {
			n.log.Debug("cannot send sign-in links to the leader", "err", err)
		}
		select {
		case <-time.After(signInEvery):
		case <-ctx.Done():
			return
		}
	}
}

// sendSignInsBefore sends tokens to the leader before a form that may use one is passed on.
func (n *node) sendSignInsBefore(r *http.Request) {
	if r.Method != http.MethodPost || r.URL.Path != "/signin" {
		return
	}
	if err := n.sendSignIns(r.Context()); err != nil {
		n.log.Debug("cannot send sign-in links to the leader", "err", err)
	}
}

// sendSignIns sends this node's tokens to the leader.
func (n *node) sendSignIns(ctx context.Context) error {
	if a := n.leading(); a != nil {
		ctx, cancel := context.WithTimeout(ctx, callTime)
		defer cancel()
		return a.signIns.ImportOwn(ctx)
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
		return fmt.Errorf("%s answered %s", leader, res.Status)
	}
	for _, t := range list {
		err = errors.Join(err, own.Drop(t))
	}
	return err
}

// receiveSignIns receives another node's tokens while this node leads.
func (n *node) receiveSignIns(w http.ResponseWriter, r *http.Request) {
	var list []access.Issued
	err := json.NewDecoder(http.MaxBytesReader(w, r.Body, mostCall)).Decode(&list)
	if err != nil || len(list) > mostSignIns {
		http.Error(w, "these are not tokens", http.StatusBadRequest)
		return
	}
	a := n.leading()
	if a == nil {
		http.Error(w, gateway.ErrNotLeading.Error(), http.StatusServiceUnavailable)
		return
	}
	if err := a.signIns.Import(r.Context(), list); err != nil {
		n.log.Warn("cannot import sign-in links from another node", "err", err)
		http.Error(w, "cannot import the tokens", http.StatusServiceUnavailable)
	}
}
