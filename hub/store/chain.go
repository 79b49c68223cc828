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

// auditBucket holds records for the audit. Their keys are not stored.
const auditBucket = "audit"

// chain is the end of the audit's chain of hashes. Only the journal's writer adds to it.
type chain struct {
	n    int64 // entries so far
	hash [sha256.Size]byte
}

// add appends an entry to the chain and returns its number and its hash: of the previous hash, the
// number and the entry.
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

// auditRows limits the audit entries in memory while all are read.
const auditRows = 500

// AuditEntries calls visit with every entry of the audit, oldest first, and stops at its first
// error. It reads in pages and no statement is open during visit, so that a slow visit does not
// block checkpoints.
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

// eachPage queries until a page is not full, and visits each page's entries after reading it. read
// scans a row and records where the next page starts.
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

// AuditBefore calls visit with the audit's entries before a number, newest first, until it returns
// false. Numbers start at 1. Entries older than the chain count down from -1, the newest of them. 0
// returns all.
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

// visitAudit calls visit with a query's rows until it returns false.
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

// CheckAudit verifies the hashes of a directory's audit, which another process may be serving, and
// returns the number of entries in the chain. It skips entries older than the chain.
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
	tx, err := db.BeginTx(ctx, &sql.TxOptions{ReadOnly: true}) // entries and their count must be consistent
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
