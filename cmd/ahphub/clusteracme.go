package main

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/ahphub/ahphub/web"
	"github.com/ahphub/ahphub/web/gateway"
)

const acmeBucket = "cluster-acme"

// acmeDocs stores ACME data, encrypted, for all nodes of a cluster: the account, certificates with
// their keys, and answers to challenges, which the authority may request from any node.
type acmeDocs struct{ n *node }

const (
	challengeTime  = 2 * time.Second // maximum wait of a follower for an answer
	challengeEvery = 20 * time.Millisecond
	mostChallenges = 8 // concurrent waits, since anyone can send a challenge
)

// Get implements web.CacheFiles.
func (d acmeDocs) Get(ctx context.Context, name string) ([]byte, error) {
	waits := false
	for began := time.Now(); ; {
		b, found, err := d.n.state.Store().Get(ctx, acmeBucket, name)
		switch {
		case err != nil || found:
			return b, err
		case !d.isChallenge(name) || time.Since(began) > challengeTime || d.n.leading() != nil:
			return nil, web.ErrNotKept
		}
		if !waits {
			select {
			case d.n.challenges <- struct{}{}:
				defer func() { <-d.n.challenges }()
				waits = true
			default:
				return nil, web.ErrNotKept
			}
		}
		select {
		case <-time.After(challengeEvery):
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// isChallenge reports whether name is a challenge whose answer may be on its way to this node.
func (d acmeDocs) isChallenge(name string) bool {
	if host, ok := strings.CutSuffix(name, "+token"); ok {
		return slices.Contains(d.n.cfg.TLS.ACME, host)
	}
	return strings.HasSuffix(name, "+http-01")
}

// Put implements web.CacheFiles.
func (d acmeDocs) Put(ctx context.Context, name string, data []byte) error {
	a := d.n.leading()
	if a == nil {
		return gateway.ErrNotLeading
	}
	return a.docs.Put(ctx, acmeBucket, name, data)
}

// Delete implements web.CacheFiles.
func (d acmeDocs) Delete(ctx context.Context, name string) error {
	a := d.n.leading()
	if a == nil {
		return gateway.ErrNotLeading
	}
	return a.docs.Delete(ctx, acmeBucket, name)
}

// Names implements web.CacheFiles.
func (d acmeDocs) Names(ctx context.Context) (names []string, err error) {
	err = d.n.state.Store().Each(ctx, acmeBucket, func(name string, _ []byte) error {
		names = append(names, name)
		return nil
	})
	return names, err
}

// shareCertificates makes all nodes use the same certificates, if they come from an ACME authority.
func (n *node) shareCertificates() {
	if n.set.secured == nil || n.set.secured.acme == nil {
		return
	}
	n.set.secured.acme.SealBy(acmeKeys{n.keys})
	n.set.secured.acme.Share(acmeDocs{n}, func() bool { return n.leading() != nil })
}

// keepCertificates obtains certificates while this node leads, until ctx is canceled.
func (n *node) keepCertificates(ctx context.Context) {
	if n.set.secured != nil && n.set.secured.acme != nil {
		if err := n.set.secured.acme.Adopt(ctx, acmeDir(n.cfg.Data)); err != nil {
			n.log.Warn("cannot share this node's certificates with the other nodes", "err", err)
		}
		n.set.secured.acme.Run(ctx)
	}
	<-ctx.Done()
}
