package store

import "context"

// Compact rewrites the database and empties its log, so that no deleted or replaced data remains in
// free pages. Writes wait for it.
func (s *Store) Compact(ctx context.Context) error {
	s.writing.Lock()
	defer s.writing.Unlock()
	if s.closed {
		return ErrClosed
	}
	if _, err := s.conn.ExecContext(ctx, "VACUUM"); err != nil {
		return describe(err)
	}
	_, err := s.conn.ExecContext(ctx, "PRAGMA wal_checkpoint(TRUNCATE)")
	return describe(err)
}
