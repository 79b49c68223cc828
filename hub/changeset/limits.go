package changeset

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"
)

// SlowError reports that git did not answer in time and was stopped.
type SlowError struct {
	Dir   string // "" when it is not known which
	Limit time.Duration
}

func (e *SlowError) Error() string {
	where := ""
	if e.Dir != "" {
		where = " in " + e.Dir
	}
	return fmt.Sprintf("git did not answer within %s%s and was stopped: try again, "+
		"and look for a slow disk or a file that it waits for", e.Limit, where)
}

// Refusal returns the text of an error about the caller's files, which is not a fault of the host.
func Refusal(err error) (message string, ok bool) {
	if special, ok := errors.AsType[*SpecialFileError](err); ok {
		return special.Error(), true
	}
	if outside, ok := errors.AsType[*OutsideError](err); ok {
		return outside.Error(), true
	}
	if slow, ok := errors.AsType[*SlowError](err); ok {
		return slow.Error(), true
	}
	return "", false
}

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
	return context.WithTimeoutCause(ctx, s.cfg.Reads, &SlowError{Limit: s.cfg.Reads})
}

// explain names the file that git most likely waited for when it was stopped.
func (src source) explain(cause error) error {
	if _, slow := errors.AsType[*SlowError](cause); slow {
		if found := src.findSpecial(); found != nil {
			return found
		}
	}
	return cause
}
