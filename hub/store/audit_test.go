package store

import "testing"

// The audit is append-only whatever the program tries, also in the journal's own writes and in plain SQL.
func TestTheAuditStaysAsItWasWritten(t *testing.T) {
	ctx, dir := t.Context(), t.TempDir()
	s := open(t, Config{Dir: dir})
	must(t, s.Add(ctx, "audit", "1", []byte("Ana signed in")))
	must(t, s.Add(ctx, "other", "1", []byte("a")))
	must(t, s.Put(ctx, "audit", "1", []byte("nobody did")))
	must(t, s.Delete(ctx, "audit", "1"))
	must(t, s.Delete(ctx, "other", "1")) // in the same group, maybe
	must(t, s.do(ctx, func(c *conn) (error, error) {
		for _, statement := range []string{"DELETE FROM docs WHERE bucket='audit'", "UPDATE docs SET value='x' WHERE key='1'",
			"UPDATE docs SET bucket='gone' WHERE bucket='audit'", "REPLACE INTO docs (bucket, key, at, value) VALUES ('audit','1',0,'new')",
			"INSERT INTO docs (bucket, key, at, value) VALUES ('audit','2',0,'new')"} {
			if _, err := c.ExecContext(ctx, statement); err != nil {
				return nil, err
			}
		}
		return nil, nil
	}))
	must(t, s.Put(ctx, "audit", "3", []byte("Ben joined")))
	must(t, s.Close())
	s = open(t, Config{Dir: dir})
	for key, want := range map[string]string{"1": "Ana signed in", "2": "new", "3": "Ben joined"} {
		if v, ok, err := s.Get(ctx, "audit", key); string(v) != want || !ok || err != nil {
			t.Errorf("the audit has %q, %v, %v at %s, want %q", v, ok, err, key, want)
		}
	}
	if _, ok, _ := s.Get(ctx, "other", "1"); ok {
		t.Error("what is no audit cannot be deleted either")
	}
}
