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

// acmeDocs are what the authority of certificates was asked for and gave, sealed, for all nodes of a cluster: the account, certificates
// with their keys, and the answers to the challenges of an order that is under way, which may come to any node.
type acmeDocs struct{ n *node }

const (
	challengeTime  = 2 * time.Second // for the answer to a challenge to come to a node that follows
	challengeEvery = 20 * time.Millisecond
	mostChallenges = 8 // that wait at once: anyone can ask
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

// isChallenge reports whether a name is that of the answer to a challenge, which may be on its way to this node.
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

// shareCertificates has the nodes share what the authority gives, if there is one.
func (n *node) shareCertificates() {
	if n.set.secured == nil || n.set.secured.acme == nil {
		return
	}
	n.set.secured.acme.SealBy(acmeKeys{n.keys})
	n.set.secured.acme.Share(acmeDocs{n}, func() bool { return n.leading() != nil })
}

// keepCertificates obtains certificates while this node leads. It returns when ctx ends.
func (n *node) keepCertificates(ctx context.Context) {
	if n.set.secured != nil && n.set.secured.acme != nil {
		if err := n.set.secured.acme.Adopt(ctx, acmeDir(n.cfg.Data)); err != nil {
			n.log.Warn("certificates of this node are not shared with the others", "err", err)
		}
		n.set.secured.acme.Run(ctx)
	}
	<-ctx.Done()
}
