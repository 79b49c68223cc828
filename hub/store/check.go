package store

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
)

// damage holds the result of a background check.
type damage struct {
	mu  sync.Mutex
	err error
}

// Err returns what is wrong with the database, or nil: the check of a large one finishes after Open
// returns. Readiness depends on it.
func (s *Store) Err() error {
	if err := s.guard.err(); err != nil {
		return err
	}
	s.damage.mu.Lock()
	defer s.damage.mu.Unlock()
	return s.damage.err
}

// querier is the part of a connection that checks need.
type querier interface {
	queryStrings(ctx context.Context, q string) ([]string, error)
}

// checkNow checks before Open returns: all of a small database, but only the catalogue of a large
// one (quick_check reads at most about 1 GB a second).
func (s *Store) checkNow(ctx context.Context, path string) error {
	switch size, fresh := databaseSize(path); {
	case fresh:
		return nil
	case size <= s.cfg.CheckBytes:
		return quickCheck(ctx, s.conn, "")
	}
	for _, table := range []string{"meta", "channels", "answers"} {
		if err := quickCheck(ctx, s.conn, table); err != nil {
			return err
		}
	}
	return nil
}

// checkLater checks the rest of a large database in the background.
func (s *Store) checkLater(ctx context.Context, path string) {
	if size, _ := databaseSize(path); size <= s.cfg.CheckBytes {
		return
	}
	s.tasks.Go(func() {
		err := quickCheck(ctx, pool{s.read}, "")
		if err == nil || ctx.Err() != nil {
			return
		}
		s.noteDamage(err)
	})
}

// noteDamage makes the store not ready if err reports damage. Intact data is still served.
func (s *Store) noteDamage(err error) {
	if !errors.Is(err, ErrDamaged) {
		return
	}
	s.log.Error("the database is damaged: "+advice, "err", err)
	s.damage.mu.Lock()
	defer s.damage.mu.Unlock()
	if s.damage.err == nil {
		s.damage.err = err
	}
}

func databaseSize(path string) (size int64, fresh bool) {
	for _, suffix := range []string{"", "-wal"} {
		if fi, err := os.Stat(path + suffix); err == nil {
			size += fi.Size()
		}
	}
	return size, size == 0
}

func quickCheck(ctx context.Context, q querier, table string) error {
	pragma := "PRAGMA quick_check(8)"
	if table != "" {
		pragma = fmt.Sprintf("PRAGMA quick_check(%s)", table)
	}
	return checkBy(ctx, q, pragma)
}

func checkBy(ctx context.Context, q querier, pragma string) error {
	found, err := q.queryStrings(ctx, pragma)
	if err != nil {
		return describe(err)
	}
	if len(found) == 1 && found[0] == "ok" {
		return nil
	}
	return fmt.Errorf("%w: %s (%s)", ErrDamaged, advice, strings.Join(found, "; "))
}
