package store

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"path/filepath"
	"slices"
)

// auditBucket is of records that go into the audit. Their keys are not kept.
const auditBucket = "audit"

// chain is the end of the audit's chain of hashes. Only the journal's writer adds to it.
type chain struct {
	n    int64 // entries so far
	hash [sha256.Size]byte
}

// add puts an entry at the end of the chain and returns its place and its hash: of the hash before, the place and
// the entry.
func (c *chain) add(entry []byte) (n int64, hash []byte) {
	c.n++
	buf := make([]byte, 0, sha256.Size+8+len(entry))
	buf = append(buf, c.hash[:]...)
	buf = binary.BigEndian.AppendUint64(buf, uint64(c.n))
	c.hash = sha256.Sum256(append(buf, entry...))
	return c.n, slices.Clone(c.hash[:]) // the next entry overwrites it
}

// load reads the end of the chain.
func (c *chain) load(ctx context.Context, db *sql.DB) error {
	var hash []byte
	err := db.QueryRowContext(ctx, "SELECT n, hash FROM audit ORDER BY n DESC LIMIT 1").Scan(&c.n, &hash)
	if errors.Is(err, sql.ErrNoRows) {
		err = nil
	}
	copy(c.hash[:], hash)
	return describe(err)
}

// auditRows is how many entries of the audit are in memory at once while all are read.
const auditRows = 500

// AuditEntries calls visit with every entry of the audit, oldest first, and stops at its first error. It reads some
// entries at a time, and no statement is open while visit runs: a slow reader does not keep the database from checkpoints.
func (s *Store) AuditEntries(ctx context.Context, visit func(entry []byte) error) error {
	key := ""
	err := s.eachPage(ctx, visit, func() (*sql.Rows, error) {
		return s.read.QueryContext(ctx, "SELECT key, value FROM docs WHERE bucket='audit' AND key>? ORDER BY key LIMIT ?",
			key, auditRows)
	}, func(rows *sql.Rows, entry *[]byte) error { return rows.Scan(&key, entry) })
	if err != nil {
		return err
	}
	n := int64(0)
	return s.eachPage(ctx, visit, func() (*sql.Rows, error) {
		return s.read.QueryContext(ctx, "SELECT n, entry FROM audit WHERE n>? ORDER BY n LIMIT ?", n, auditRows)
	}, func(rows *sql.Rows, entry *[]byte) error { return rows.Scan(&n, entry) })
}

// eachPage queries until a page is not full, and visits the entries of each page once it is read. read scans a row, and
// notes where the next page begins.
func (s *Store) eachPage(ctx context.Context, visit func(entry []byte) error, query func() (*sql.Rows, error),
	read func(rows *sql.Rows, entry *[]byte) error) error {
	for {
		rows, err := query()
		if err != nil {
			return describe(err)
		}
		var page [][]byte
		err = scan(rows, func() error {
			var entry []byte
			err := read(rows, &entry)
			page = append(page, entry)
			return err
		})
		if err != nil {
			return describe(err)
		}
		for _, entry := range page {
			if err := errors.Join(ctx.Err(), visit(entry)); err != nil {
				return err
			}
		}
		if len(page) < auditRows {
			return nil
		}
	}
}

// AuditBefore calls visit with the entries of the audit before a place, newest first, until it returns false.
// Places count from 1; entries of before there was a chain have -1 for the newest of them, and so on. Before 0 are all.
func (s *Store) AuditBefore(ctx context.Context, before int64, visit func(place int64, entry []byte) bool) error {
	more := true
	if before >= 0 {
		query := "SELECT n, entry FROM audit WHERE n<? ORDER BY n DESC"
		if before == 0 {
			before = math.MaxInt64
		}
		if err := s.visitAudit(ctx, query, before,
			func(n int64, entry []byte) bool { more = visit(n, entry); return more }); err != nil {
			return err
		}
		before = 0
	}
	if !more {
		return nil
	}
	query, place := "SELECT 0, value FROM docs WHERE bucket='audit' ORDER BY key DESC LIMIT -1 OFFSET ?", before
	return s.visitAudit(ctx, query, -before, func(_ int64, entry []byte) bool { place--; return visit(place, entry) })
}

// visitAudit calls visit with what a query finds, until it returns false.
func (s *Store) visitAudit(ctx context.Context, query string, arg int64, visit func(n int64, entry []byte) bool) error {
	rows, err := s.read.QueryContext(ctx, query, arg)
	if err != nil {
		return describe(err)
	}
	err = scan(rows, func() error {
		var n int64
		var entry []byte
		if err := rows.Scan(&n, &entry); err != nil {
			return err
		}
		if !visit(n, entry) {
			return errEnough
		}
		return nil
	})
	if errors.Is(err, errEnough) {
		return nil
	}
	return describe(err)
}

var errEnough = errors.New("enough was read")

// CheckAudit compares the hashes of the audit of a directory, which another process may be serving, with its
// entries, and returns how many there are. Entries of before there was a chain are not among them.
func CheckAudit(ctx context.Context, dir string) (entries int64, err error) {
	db, err := openToCheck(filepath.Join(dir, databaseName))
	if err != nil {
		return 0, err
	}
	defer db.Close()
	version, err := versionOf(ctx, db)
	if err != nil || version < chainSince {
		return 0, err
	}
	return checkChain(ctx, db)
}

func checkChain(ctx context.Context, db *sql.DB) (entries int64, err error) {
	tx, err := db.BeginTx(ctx, &sql.TxOptions{ReadOnly: true}) // entries and their count belong together
	if err != nil {
		return 0, describe(err)
	}
	defer tx.Rollback()
	var want int64
	err = tx.QueryRowContext(ctx, "SELECT value FROM meta WHERE key=?", metaEntries).Scan(&want)
	if err != nil && !errors.Is(err, sql.ErrNoRows) {
		return 0, describe(err)
	}
	rows, err := tx.QueryContext(ctx, "SELECT n, entry, hash FROM audit ORDER BY n")
	if err != nil {
		return 0, describe(err)
	}
	c := chain{}
	err = scan(rows, func() error {
		var n int64
		var entry, hash []byte
		if err := rows.Scan(&n, &entry, &hash); err != nil {
			return err
		}
		place, sum := c.add(entry)
		if n != place || string(sum) != string(hash) {
			return fmt.Errorf("%w: entry %d of the audit was changed, or entries before it were removed", ErrDamaged,
				place)
		}
		return nil
	})
	if err == nil && c.n != want {
		err = fmt.Errorf("%w: the audit has %d entries, and had %d", ErrDamaged, c.n, want)
	}
	return c.n, describe(err)
}
