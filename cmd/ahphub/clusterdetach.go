package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/ahphub/ahphub/hub"
	"github.com/ahphub/ahphub/hub/access"
	"github.com/ahphub/ahphub/hub/cluster"
	"github.com/ahphub/ahphub/hub/cluster/manage"
	"github.com/ahphub/ahphub/hub/cluster/peers"
	"github.com/ahphub/ahphub/hub/cluster/replica"
	"github.com/ahphub/ahphub/hub/secret"
	"github.com/ahphub/ahphub/hub/store"
)

// clusterDetachCommand copies a node's data for a separate server.
type clusterDetachCommand struct {
	Data    string        `default:"${data}" placeholder:"DIR" help:"Data directory of the node. Default: ${default}."`
	Secrets secretsConfig `embed:""`
	To      string        `arg:"" help:"New data directory. It must not exist, or be empty."`
}

// Run copies the node's data, also while the node runs. The copy belongs to no cluster and cannot
// rejoin one as this node.
func (c clusterDetachCommand) Run(e *environment) error {
	if !peers.IsNode(c.Data) {
		return fmt.Errorf("%w: %s", peers.ErrNoCluster, c.Data)
	}
	if files, err := os.ReadDir(c.To); len(files) > 0 || err != nil && !errors.Is(err, os.ErrNotExist) {
		return errors.Join(err, fmt.Errorf("%s is not empty. Choose a new directory", c.To))
	}
	if err := os.MkdirAll(c.To, 0o700); err != nil {
		return err
	}
	if err := c.copyTo(e.ctx); err != nil {
		return fmt.Errorf("%s is incomplete, delete it: %w", c.To, err)
	}
	printLine(e.stdout, "data", c.To)
	return nil
}

func (c clusterDetachCommand) copyTo(ctx context.Context) error {
	keys, err := c.Secrets.open(c.Data)
	if err != nil {
		return err
	}
	if err := c.copyDatabase(ctx); err != nil {
		return err
	}
	if !keys.IsOwners() {
		b, err := os.ReadFile(keys.Source())
		if err == nil {
			err = access.WriteSecret(filepath.Join(c.To, secret.KeyFile), b)
		}
		if err != nil {
			return err
		}
	}
	s, err := store.Open(ctx, store.Config{Dir: c.To})
	if err != nil {
		return err
	}
	err = leaveCluster(ctx, s, keys, c.To, nil)
	if err == nil {
		err = s.Compact(ctx) // removes deleted data, such as the authority's key, from the file
	}
	return errors.Join(err, s.Close())
}

// copyDatabase copies the node's database. For a stopped node, it also applies the end of the log:
// a quorum may have had these entries, and people may have seen them, before this node learned that
// they were committed.
func (c clusterDetachCommand) copyDatabase(ctx context.Context) error {
	to := filepath.Join(c.To, "ahphub.db")
	tail, err := cluster.OpenTail(logDir(c.Data))
	if errors.Is(err, cluster.ErrInUse) || errors.Is(err, os.ErrNotExist) {
		return store.BackupDir(ctx, c.Data, to)
	}
	if err != nil {
		return err
	}
	defer tail.Close()
	own, err := replica.Open(ctx, store.Config{Dir: c.Data}) // installs a received copy and checks everything
	if err == nil {
		err = own.Close()
	}
	if err == nil {
		err = store.BackupDir(ctx, c.Data, to)
	}
	if err != nil {
		return err
	}
	state, err := replica.Open(ctx, store.Config{Dir: c.To})
	if err != nil {
		return err
	}
	return errors.Join(tail.Replay(state, batchVersion), state.Close())
}

// leaveCluster writes the shared secrets to files and removes all cluster records from a database.
// onLocked is called for secrets whose key is missing; if it is nil, they are an error.
func leaveCluster(ctx context.Context, s *store.Store, keys *secret.Keys, data string,
	onLocked func(name string, err error)) error {
	if err := s.Each(ctx, sharedBucket, func(name string, sealed []byte) error {
		value, err := keys.Open(sharedLabel(name), string(sealed))
		if secret.IsLocked(err) && onLocked != nil {
			onLocked(name, err)
			return nil
		}
		if err != nil {
			return fmt.Errorf("the secret %s of the cluster: %w", name, err)
		}
		return access.WriteSecret(filepath.Join(data, filepath.Base(name)), value)
	}); err != nil {
		return err
	}
	gone := hub.Batch{}
	own := []string{sharedBucket, acmeBucket, store.ReplicaBucket}
	for _, bucket := range slices.Concat(peers.Buckets(), manage.Buckets(), own) {
		if err := s.Each(ctx, bucket, func(key string, _ []byte) error {
			gone.Writes = append(gone.Writes, hub.Write{Record: &hub.Record{Bucket: bucket, Key: key, At: time.Now()}})
			return nil
		}); err != nil {
			return err
		}
	}
	if len(gone.Writes) == 0 {
		return nil
	}
	batch, err := store.Encode(gone, 0)
	if err != nil {
		return err
	}
	return s.Apply(s.Position()+1, batch)
}

// forgetCluster removes records of an earlier cluster from a data directory that does not belong to
// a node, such as a node's backup: its members and authority are not those of the new cluster.
func (n *node) forgetCluster(ctx context.Context) error {
	used, err := isUsed(n.cfg.Data)
	if !used || err != nil || peers.IsNode(n.cfg.Data) {
		return err
	}
	s, err := store.Open(ctx, store.Config{Dir: n.cfg.Data})
	if err != nil {
		return err
	}
	keys, err := n.cfg.Secrets.open(n.cfg.Data)
	if err == nil {
		err = leaveCluster(ctx, s, keys, n.cfg.Data, func(name string, err error) {
			n.log.Warn("cannot decrypt a secret of an earlier cluster, creating a new one", "name", name, "err", err)
		})
	}
	return errors.Join(err, s.Close())
}
