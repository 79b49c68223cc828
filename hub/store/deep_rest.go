package store

import (
	"context"
	"database/sql"
	"fmt"
	"path/filepath"
	"strings"
)

// rest checks everything outside of channels' journals: the rows of channels, answers and
// documents, the numbers of meta, and the schema.
func (d *Deep) rest(ctx context.Context, db *sql.DB, version int) error {
	schema := func(ctx context.Context, tx *sql.Tx) error { return d.schema(ctx, tx, version) }
	for _, check := range []func(context.Context, *sql.Tx) error{schema, d.meta, d.catalogue, d.answers, d.docs} {
		tx, err := db.BeginTx(ctx, &sql.TxOptions{ReadOnly: true})
		if err != nil {
			return describe(err)
		}
		if err := check(ctx, tx); err != nil && ctx.Err() == nil {
			d.note(describe(err))
		}
		if err := tx.Rollback(); err != nil && ctx.Err() == nil {
			return describe(err)
		}
	}
	return ctx.Err()
}

const sqlSchema = "SELECT type || ' ' || name || ' ' || coalesce(sql, '') FROM sqlite_schema ORDER BY 1"

// schema compares the tables and triggers with those of a new database.
func (d *Deep) schema(ctx context.Context, tx *sql.Tx, version int) error {
	fresh, err := sql.Open("sqlite", ":memory:")
	if err != nil {
		return err
	}
	defer fresh.Close()
	fresh.SetMaxOpenConns(1) // each connection has its own database
	for _, m := range migrations[:version] {
		if _, err := fresh.ExecContext(ctx, m); err != nil {
			return err
		}
	}
	rows, err := fresh.QueryContext(ctx, sqlSchema)
	want, err := scanStrings(rows, err)
	if err != nil {
		return err
	}
	rows, err = tx.QueryContext(ctx, sqlSchema)
	got, err := scanStrings(rows, err)
	if err != nil {
		return err
	}
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		d.note(&DamageError{What: "the list of tables"})
	}
	return nil
}

// meta compares each number with its copy.
func (d *Deep) meta(ctx context.Context, tx *sql.Tx) error {
	var n int
	err := tx.QueryRowContext(ctx, `SELECT count(*) FROM
		(SELECT key, value FROM meta WHERE key NOT LIKE 'copy of %') a FULL JOIN
		(SELECT substr(key, 9) AS key, value FROM meta WHERE key LIKE 'copy of %') b USING (key) WHERE a.value IS NOT b.value`).Scan(&n)
	if err == nil && n > 0 {
		d.note(&DamageError{What: "one of the database's counters"})
	}
	return err
}

func (d *Deep) catalogue(ctx context.Context, tx *sql.Tx) error {
	return scanSums(ctx, tx, "SELECT id, uri, kind, session, chat, floor, last, run, snap, sum FROM channels", func(rows *sql.Rows, sums *checksummer) error {
		var r channelRow
		var sum sql.NullInt64
		if err := rows.Scan(&r.id, &r.info.URI, &r.info.Kind, &r.info.Session, &r.info.Chat, &r.floor, &r.last, &r.run, &r.snap,
			&sum); err != nil {
			return err
		}
		d.compare(sum, sums.channel(&r), DamageError{What: "the entry in the catalogue", URI: r.info.URI})
		return nil
	})
}

func (d *Deep) answers(ctx context.Context, tx *sql.Tx) error {
	return scanSums(ctx, tx, "SELECT client, client_seq, seq, channel, at, sum FROM answers", func(rows *sql.Rows, sums *checksummer) error {
		var client, channel string
		var clientSeq, seq, at int64
		var sum sql.NullInt64
		if err := rows.Scan(&client, &clientSeq, &seq, &channel, &at, &sum); err != nil {
			return err
		}
		d.compare(sum, sums.answer(client, clientSeq, seq, channel, at), DamageError{What: fmt.Sprintf("answer %d", seq), URI: channel})
		return nil
	})
}

func (d *Deep) docs(ctx context.Context, tx *sql.Tx) error {
	return scanSums(ctx, tx, "SELECT bucket, key, at, value, sum FROM docs", func(rows *sql.Rows, sums *checksummer) error {
		var bucket, key string
		var at int64
		var value []byte
		var sum sql.NullInt64
		if err := rows.Scan(&bucket, &key, &at, &value, &sum); err != nil {
			return err
		}
		// Keys may be secrets, so the error has none.
		d.compare(sum, sums.doc(bucket, key, at, value), DamageError{What: "a document of " + bucket})
		return nil
	})
}

// scanSums calls row for each row of a query, with a checksummer.
func scanSums(ctx context.Context, tx *sql.Tx, query string, row func(*sql.Rows, *checksummer) error) error {
	rows, err := tx.QueryContext(ctx, query)
	if err != nil {
		return err
	}
	var sums checksummer
	return scan(rows, func() error { return row(rows, &sums) })
}

// compare reports a row with a wrong checksum, and counts one without.
func (d *Deep) compare(stored sql.NullInt64, sum int64, damage DamageError) {
	if !stored.Valid {
		d.Unchecked++
		return
	}
	if differs(stored, sum) {
		d.note(&damage)
	}
}

// CheckWhole reads every row of a directory's database, including indexes, and returns the first
// damage.
func CheckWhole(ctx context.Context, dir string) error {
	return checkWhole(ctx, filepath.Join(dir, databaseName))
}

func checkWhole(ctx context.Context, path string) error {
	db, err := openToCheck(path)
	if err != nil {
		return err
	}
	defer db.Close()
	d := &Deep{}
	if err := d.all(ctx, db, "PRAGMA integrity_check(8)"); err != nil {
		return err
	}
	if len(d.Damage) > 0 {
		return d.Damage[0]
	}
	return nil
}
