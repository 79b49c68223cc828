package store

import (
	"context"
	"database/sql"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"path/filepath"
	"strings"

	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"
)

// applicationID marks the file as ours ("ahph").
const applicationID = 0x61687068

var (
	// A commit that checkpoints the log waits for more disk syncs, which delays what it contains.
	// SQLite's default of 4 MB fills about once a second while twenty agents stream; 32 MB last for
	// several seconds.
	writerPragmas = []string{"journal_mode(WAL)", "synchronous(FULL)", "busy_timeout(5000)", "foreign_keys(0)",
		"wal_autocheckpoint(8000)", "journal_size_limit(67108864)", "temp_store(MEMORY)"}
	readerPragmas = []string{"busy_timeout(5000)", "query_only(1)", "temp_store(MEMORY)"}
)

func openDB(path string, pragmas []string) (*sql.DB, error) {
	abs, err := filepath.Abs(path)
	if err != nil {
		return nil, err
	}
	if err := makeDB(abs); err != nil {
		return nil, err
	}
	return sql.Open("sqlite", dsn(abs, pragmas))
}

// makeDB creates a missing file, because SQLite would make it readable by all. It never opens an
// existing one: closing it would release the locks of all this process's connections (POSIX). The
// next program to open the database, such as ahphub backup, would then consider itself the last and
// remove the log in use.
func makeDB(path string) error {
	if _, err := os.Stat(path); err == nil {
		return nil
	}
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return err
	}
	return f.Close()
}

func dsn(abs string, pragmas []string) string {
	u := url.URL{Scheme: "file", Path: filepath.ToSlash(abs), RawQuery: url.Values{"_pragma": pragmas}.Encode()}
	return u.String()
}

// inspect reads the header of an existing file without opening it as a database: SQLite would
// create side files, and a newer database must stay untouched.
func inspect(path string) error {
	f, err := os.Open(path)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer f.Close()
	var header [100]byte
	n, err := io.ReadFull(f, header[:])
	if n == 0 && errors.Is(err, io.EOF) {
		return nil // created, and killed before its first page
	}
	if err != nil || string(header[:16]) != "SQLite format 3\x00" {
		return fmt.Errorf("%w: %s is not a SQLite database: move it away, or %s", ErrDamaged, path, advice)
	}
	id, version := binary.BigEndian.Uint32(header[68:]), binary.BigEndian.Uint32(header[60:])
	if id != 0 && id != applicationID {
		return fmt.Errorf("%w: %s belongs to another program", ErrDamaged, path)
	}
	return known(path, int(version))
}

func known(path string, version int) error {
	if version > len(migrations) {
		return fmt.Errorf("%w: %s has version %d, this program knows %d: upgrade the program, or restore a backup",
			ErrNewer, path, version, len(migrations))
	}
	return nil
}

// describe adds advice to SQLite's terse errors.
func describe(err error) error {
	var e *sqlite.Error
	if !errors.As(err, &e) {
		if err != nil && strings.HasPrefix(err.Error(), "sql: Scan error") { // a column has the wrong type
			return fmt.Errorf("%w (%w): %s", ErrDamaged, err, advice)
		}
		return err
	}
	switch e.Code() & 0xff {
	case sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB:
		return fmt.Errorf("%w (%w): %s", ErrDamaged, err, advice)
	case sqlite3.SQLITE_ERROR: // from a valid statement
		return fmt.Errorf("%w: its tables are not what they were (%w): %s", ErrDamaged, err, advice)
	case sqlite3.SQLITE_FULL:
		return &diskError{"the disk is full: free some space", err}
	case sqlite3.SQLITE_READONLY, sqlite3.SQLITE_PERM, sqlite3.SQLITE_CANTOPEN:
		return &diskError{"the data directory is not writable: check its owner and mode", err}
	case sqlite3.SQLITE_IOERR:
		return &diskError{"the disk fails: look at the system's log", err}
	}
	return err
}

// diskError is a disk failure, with advice.
type diskError struct {
	reason string
	cause  error
}

func (e *diskError) Error() string { return e.reason + " (" + e.cause.Error() + ")" }
func (e *diskError) Unwrap() error { return e.cause }

// Reason describes the problem and the remedy for people.
func (e *diskError) Reason() string { return e.reason }

// conn is the writing connection, with its prepared statements. Its calls take no context, because
// a commit must not be interrupted.
type conn struct {
	*sql.Conn
	stmts map[string]*sql.Stmt
}

func (c *conn) prepare(query string) (*sql.Stmt, error) {
	if st := c.stmts[query]; st != nil {
		return st, nil
	}
	st, err := c.PrepareContext(context.Background(), query)
	if err == nil {
		c.stmts[query] = st
	}
	return st, err
}

func (c *conn) exec(query string, args ...any) (changed int64, err error) {
	st, err := c.prepare(query)
	if err != nil {
		return 0, err
	}
	res, err := st.ExecContext(context.Background(), args...)
	if err != nil {
		return 0, err
	}
	return res.RowsAffected()
}

func (c *conn) query(query string, args ...any) (*sql.Rows, error) {
	st, err := c.prepare(query)
	if err != nil {
		return nil, err
	}
	return st.QueryContext(context.Background(), args...)
}

func (c *conn) transaction(f func() error) error {
	if _, err := c.exec("BEGIN IMMEDIATE"); err != nil {
		return err
	}
	err := f()
	if err == nil {
		_, err = c.exec("COMMIT")
	}
	if err != nil {
		c.exec("ROLLBACK") // fails if SQLite has already rolled back
	}
	return err
}

func (c *conn) close() error {
	for _, st := range c.stmts {
		st.Close()
	}
	return c.Conn.Close()
}
