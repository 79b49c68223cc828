package changeset

import (
	"cmp"
	"context"
	"errors"
	"time"

	"github.com/ahphub/ahphub/hub/machine"
)

type patienceKey struct{}

// withPatience lets every git program of a checkpoint take as long as the checkpoint may.
func (s *Service) withPatience(ctx context.Context) context.Context {
	return context.WithValue(ctx, patienceKey{}, s.cfg.Checkpoint)
}

// patience returns a program's timeout: reads have a short one, because a page or a client waits.
func (s *Service) patience(ctx context.Context, r run) time.Duration {
	given, _ := ctx.Value(patienceKey{}).(time.Duration)
	usual := s.cfg.Reads
	if r.acting {
		usual = s.cfg.Timeout
	}
	return cmp.Or(r.patience, given, usual)
}

// reading bounds the total time that a page or a client waits, including queues.
func (s *Service) reading(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeoutCause(ctx, s.cfg.Reads, &machine.SlowError{Limit: s.cfg.Reads})
}

// explain names the file that git most likely waited for when it was stopped.
func (src source) explain(cause error) error {
	if _, slow := errors.AsType[*machine.SlowError](cause); slow {
		if found := src.findSpecial(); found != nil {
			return found
		}
	}
	return cause
}
