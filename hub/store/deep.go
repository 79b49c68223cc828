package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/ahphub/ahphub/hub/ahp"
)

// Deep is the result of a check of every row.
type Deep struct {
	Channels, Rows int
	Entries        int64 // in the audit's chain
	Unchecked      int   // rows written before there were checksums
	Damage         []error
	More           int // number of damages beyond mostDamage
}

const mostDamage = 20

func (d *Deep) note(err error) {
	if len(d.Damage) < mostDamage {
		d.Damage = append(d.Damage, err)
		return
	}
	d.More++
}

// DeepCheck reads every row of a directory's database, which another process may be serving, and
// compares checksums. It returns an error only if the database cannot be read.
func DeepCheck(ctx context.Context, dir string) (*Deep, error) {
	db, err := openToCheck(filepath.Join(dir, databaseName))
	if err != nil {
		return nil, err
	}
	defer db.Close()
	d := &Deep{}
	return d, d.all(ctx, db, "PRAGMA quick_check(8)")
}

// all runs SQLite's check and compares every checksum.
func (d *Deep) all(ctx context.Context, db *sql.DB, pragma string) error {
	if err := checkBy(ctx, pool{db}, pragma); err != nil {
		d.note(err)
	}
	version, err := versionOf(ctx, db)
	if err != nil {
		return err
	}
	if version < sumsSince {
		return errors.New("it was written by an earlier ahphub and has no checksums: start this one once, which " +
			"upgrades it")
	}
	if err := d.channels(ctx, db); err != nil || version < chainSince {
		return err
	}
	if d.Entries, err = checkChain(ctx, db); err != nil && ctx.Err() == nil {
		d.note(err)
	}
	if version < allSince || ctx.Err() != nil {
		return ctx.Err()
	}
	return d.rest(ctx, db, version)
}

// openToCheck opens a database read-only.
func openToCheck(path string) (*sql.DB, error) {
	if _, err := os.Stat(path); err != nil {
		return nil, err
	}
	if err := inspect(path); err != nil {
		return nil, err
	}
	return openDB(path, readerPragmas)
}

func versionOf(ctx context.Context, db *sql.DB) (version int, err error) {
	err = db.QueryRowContext(ctx, "PRAGMA user_version").Scan(&version)
	return version, describe(err)
}

func (d *Deep) channels(ctx context.Context, db *sql.DB) error {
	uris, err := pool{db}.queryStrings(ctx, "SELECT uri FROM channels ORDER BY id")
	if err != nil {
		return describe(err)
	}
	for _, uri := range uris {
		if err := d.channel(ctx, db, uri); err != nil {
			return err
		}
	}
	return nil
}

// channel checks one channel in its own transaction, so that a serving process can checkpoint its
// log meanwhile.
func (d *Deep) channel(ctx context.Context, db *sql.DB, uri ahp.URI) error {
	tx, err := db.BeginTx(ctx, &sql.TxOptions{ReadOnly: true})
	if err != nil {
		return describe(err)
	}
	defer tx.Rollback()
	c := &loaded{}
	switch err := c.readSnapshot(ctx, tx, uri); {
	case errors.Is(err, ErrNotFound):
		return d.missing(ctx, tx, uri)
	case ctx.Err() != nil:
		return ctx.Err()
	case err != nil:
		d.note(named(err, "the snapshot", uri))
		return nil // its rows are read together with it
	}
	d.Channels++
	if !c.summed {
		d.Unchecked++
	}
	if err := d.rows(ctx, tx, c); err != nil && ctx.Err() == nil {
		d.note(err)
	}
	return ctx.Err()
}

// missing distinguishes a channel without its snapshot from one that was closed meanwhile.
func (d *Deep) missing(ctx context.Context, tx *sql.Tx, uri ahp.URI) error {
	n := 0
	if err := tx.QueryRowContext(ctx, "SELECT count(*) FROM channels WHERE uri=?", uri).Scan(&n); err != nil {
		return describe(err)
	}
	if n > 0 {
		d.note(&DamageError{What: "the snapshot", URI: uri, Cause: errors.New("it is missing")})
	}
	return nil
}

// rows checks the journal rows of a channel, including that none is missing: the channel counts
// their bytes.
func (d *Deep) rows(ctx context.Context, tx *sql.Tx, c *loaded) error {
	rows, err := tx.QueryContext(ctx, sqlReadEnvelopes, c.id)
	if err != nil {
		return named(err, "a part", c.info.URI)
	}
	run, last, damaged := int64(0), c.base, false
	err = scan(rows, func() error {
		e, size, err := c.scanEnvelope(rows)
		d.Rows++
		if err != nil {
			d.note(named(err, "a journal row", c.info.URI))
			damaged = true
			return nil
		}
		if !c.summed {
			d.Unchecked++
		}
		if e.Seq > c.base {
			run += int64(size)
		}
		last = max(last, e.Seq)
		return nil
	})
	if err != nil {
		return named(err, "a part", c.info.URI)
	}
	if !damaged && (run != c.ran || last != c.last) {
		return &DamageError{What: "the journal", URI: c.info.URI,
			Cause: fmt.Errorf("rows are missing: %d bytes up to %d, not %d up to %d", run, last, c.ran, c.last)}
	}
	return nil
}

// named adds what was read to damage that SQLite found.
func named(err error, what string, uri ahp.URI) error {
	if known, ok := errors.AsType[*DamageError](err); ok {
		return known
	}
	return &DamageError{What: what, URI: uri, Cause: describe(err)}
}
