package store

import (
	"context"
)

// job is a piece of work for the writer. Its answer goes to whoever asked for
// it; its failure is the transaction's.
type job struct {
	run  func(*conn) (answer, failure error)
	done chan error
}

// maxGroup bounds the jobs of one transaction.
const maxGroup = 256

// do hands work to the writer and returns once it is on disk. When ctx ends
// first, the work may still be done.
func (s *Store) do(ctx context.Context, run func(*conn) (answer, failure error)) error {
	j := &job{run: run, done: make(chan error, 1)}
	select {
	case s.jobs <- j:
	case <-s.quit:
		return ErrClosed
	case <-ctx.Done():
		return ctx.Err()
	}
	select {
	case err := <-j.done:
		return err
	case <-s.stopped:
		return ErrClosed
	case <-ctx.Done():
		return ctx.Err()
	}
}

// write is the writer: whatever came while the last transaction was on its way
// to the disk shares the next one. It ends after Close, with nothing left.
func (s *Store) write() {
	defer close(s.stopped)
	for {
		select {
		case j := <-s.jobs:
			s.commit(s.gather(j))
			continue
		default:
		}
		select {
		case j := <-s.jobs:
			s.commit(s.gather(j))
		case <-s.quit:
			return
		}
	}
}

func (s *Store) gather(first *job) []*job {
	group := []*job{first}
	for len(group) < maxGroup {
		select {
		case j := <-s.jobs:
			group = append(group, j)
		default:
			return group
		}
	}
	return group
}

// commit runs a group in one transaction. When that fails, each is tried alone,
// so that nobody fails for the sake of a neighbour.
func (s *Store) commit(group []*job) {
	answers := make([]error, len(group))
	err := s.transact(group, answers)
	if isFull(err) {
		s.makeRoom()
		err = s.transact(group, answers)
	}
	switch {
	case err == nil:
		for i, j := range group {
			j.done <- answers[i]
		}
	case len(group) == 1:
		group[0].done <- describe(err)
	default:
		for _, j := range group {
			s.commit([]*job{j})
		}
	}
}

// transact runs a group in one transaction and notes its answers.
func (s *Store) transact(group []*job, answers []error) error {
	return s.conn.transaction(func() error {
		for i, j := range group {
			answer, failure := j.run(s.conn)
			if failure != nil {
				return failure
			}
			answers[i] = answer
		}
		if err := s.guard.look(); err != nil {
			return err
		}
		return s.injected()
	})
}

func (s *Store) injected() error {
	if s.cfg.fail == nil {
		return nil
	}
	return s.cfg.fail()
}
