package store

import (
	"context"
	"fmt"
)

// migrations lead from each version of the database to the next; user_version is the number
// applied. Never edit a released one.
var migrations = []string{
	// 1: sequence numbers are unique in the whole timeline, so they are row ids.
	`CREATE TABLE meta (key TEXT PRIMARY KEY, value INTEGER NOT NULL) WITHOUT ROWID;
	CREATE TABLE channels (
		id INTEGER PRIMARY KEY, uri TEXT NOT NULL UNIQUE, kind TEXT NOT NULL, session TEXT NOT NULL,
		floor INTEGER NOT NULL, -- rows up to here are dropped
		last INTEGER NOT NULL,  -- newest envelope
		run INTEGER NOT NULL,   -- bytes of envelopes after the snapshot
		snap INTEGER NOT NULL   -- bytes of the snapshot
	);
	CREATE TABLE snapshots (channel INTEGER PRIMARY KEY, seq INTEGER NOT NULL, state BLOB NOT NULL);
	CREATE TABLE envelopes (
		seq INTEGER PRIMARY KEY, channel INTEGER NOT NULL, at INTEGER NOT NULL, -- µs
		bytes INTEGER NOT NULL, principal TEXT, client TEXT, client_seq INTEGER, action BLOB NOT NULL
	);
	CREATE INDEX envelopes_channel ON envelopes (channel, seq);
	CREATE TABLE answers (
		client TEXT NOT NULL, client_seq INTEGER NOT NULL, seq INTEGER NOT NULL, channel TEXT NOT NULL, at INTEGER NOT NULL,
		PRIMARY KEY (client, client_seq)
	) WITHOUT ROWID;
	CREATE INDEX answers_seq ON answers (seq);
	CREATE TABLE docs (
		bucket TEXT NOT NULL, key TEXT NOT NULL, at INTEGER NOT NULL, value BLOB NOT NULL, PRIMARY KEY (bucket, key)
	) WITHOUT ROWID;
	CREATE TABLE blobs (id TEXT PRIMARY KEY, at INTEGER NOT NULL, data BLOB NOT NULL);`,
	// 2: audit entries are immutable. Changes are ignored instead of failing, because the rest of
	// their transaction is unrelated.
	`CREATE TRIGGER audit_stays BEFORE UPDATE ON docs WHEN OLD.bucket = 'audit' BEGIN SELECT RAISE(IGNORE); END;
	CREATE TRIGGER audit_kept BEFORE DELETE ON docs WHEN OLD.bucket = 'audit' BEGIN SELECT RAISE(IGNORE); END;
	CREATE TRIGGER audit_once BEFORE INSERT ON docs WHEN NEW.bucket = 'audit' AND EXISTS
		(SELECT 1 FROM docs WHERE bucket = 'audit' AND key = NEW.key) BEGIN SELECT RAISE(IGNORE); END; -- REPLACE fires no other`,
	// 3: the chat of a terminal or of a turn's changes, so that a viewer of only that chat is sent
	// them.
	`ALTER TABLE channels ADD COLUMN chat TEXT NOT NULL DEFAULT '';`,
	// 4: checksums. Rows that are there have none.
	`ALTER TABLE envelopes ADD COLUMN sum INTEGER; ALTER TABLE snapshots ADD COLUMN sum INTEGER;`,
	// 5: the audit in its own table as a chain: each hash covers the previous one and its entry.
	// Existing entries stay in docs, outside of the chain.
	`CREATE TABLE audit (n INTEGER PRIMARY KEY, entry BLOB NOT NULL, hash BLOB NOT NULL);
	CREATE TRIGGER entry_stays BEFORE UPDATE ON audit BEGIN SELECT RAISE(IGNORE); END;
	CREATE TRIGGER entry_kept BEFORE DELETE ON audit BEGIN SELECT RAISE(IGNORE); END;
	CREATE TRIGGER entry_once BEFORE INSERT ON audit WHEN EXISTS (SELECT 1 FROM audit WHERE n = NEW.n)
		BEGIN SELECT RAISE(IGNORE); END;`,
	// 6: checksums of everything else, by checksummer; counters are included by weight. Each value
	// of meta has a copy.
	`ALTER TABLE channels ADD COLUMN sum INTEGER; ALTER TABLE answers ADD COLUMN sum INTEGER; ALTER TABLE docs ADD COLUMN sum INTEGER;
	INSERT INTO meta SELECT 'copy of ' || key, value FROM meta;
	CREATE TRIGGER meta_new AFTER INSERT ON meta WHEN NEW.key NOT LIKE 'copy of %' BEGIN
		INSERT OR REPLACE INTO meta VALUES ('copy of ' || NEW.key, NEW.value); END;
	CREATE TRIGGER meta_changed AFTER UPDATE ON meta WHEN NEW.key NOT LIKE 'copy of %' BEGIN
		UPDATE meta SET value = NEW.value WHERE key = 'copy of ' || NEW.key; END;`,
}

// sumsSince is the first database version with checksums on rows.
const sumsSince = 4

// chainSince is the first database version with the audit as a chain.
const chainSince = 5

// allSince is the first database version with checksums on everything.
const allSince = 6

// migrate brings the database to the newest version, with a transaction per step.
func (c *conn) migrate(steps []string) error {
	var version int
	if err := c.QueryRowContext(context.Background(), "PRAGMA user_version").Scan(&version); err != nil {
		return describe(err)
	}
	if err := known("the database", version); err != nil {
		return err
	}
	if version == len(steps) {
		return nil
	}
	for ; version < len(steps); version++ {
		if err := c.step(steps[version], version+1); err != nil {
			return fmt.Errorf("migration to version %d: %w", version+1, describe(err))
		}
	}
	// Write it into the file's header, which inspect reads.
	_, err := c.ExecContext(context.Background(), "PRAGMA wal_checkpoint(TRUNCATE)")
	return describe(err)
}

func (c *conn) step(statements string, version int) error {
	return c.transaction(func() error {
		mark := fmt.Sprintf("PRAGMA application_id=%d; PRAGMA user_version=%d", applicationID, version)
		_, err := c.ExecContext(context.Background(), statements+"\n"+mark)
		return err
	})
}
