package store

// transact runs f in a transaction of the writing connection. On a full disk, it makes room and
// retries.
func (s *Store) transact(f func(*conn) error) error {
	s.writing.Lock()
	defer s.writing.Unlock()
	if s.closed {
		return ErrClosed
	}
	err := s.commit(f)
	if isFull(err) {
		s.makeRoom()
		err = s.commit(f)
	}
	return describe(err)
}

func (s *Store) commit(f func(*conn) error) error {
	return s.conn.transaction(func() error {
		if err := f(s.conn); err != nil {
			return err
		}
		if err := s.guard.look(); err != nil {
			return err
		}
		if s.cfg.fail != nil {
			return s.cfg.fail()
		}
		return nil
	})
}
