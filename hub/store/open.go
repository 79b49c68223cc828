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
	// A commit that moves the log into the database waits for more syncs of the disk, and what it
	// holds is seen that much later. SQLite's own 4 MB are full about once a second while twenty
	// agents stream, 32 MB last for several.
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

// makeDB makes the file when it is not there, because SQLite would make it readable by all. One
// that is there is never opened here: closing it would release the locks of every connection of
// this process (POSIX), and the next program that has a look at the database, as ahphub backup,
// would take itself for the last and remove the log in use.
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

// inspect reads the header of an existing file without opening it as a
// database: SQLite would make its side files, and a newer one stays untouched.
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
		return nil // made, and killed before its first page
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

// describe adds what to do to errors whose cause SQLite names in one word.
func describe(err error) error {
	var e *sqlite.Error
	if !errors.As(err, &e) {
		if err != nil && strings.HasPrefix(err.Error(), "sql: Scan error") { // a column of another type than it was
			return fmt.Errorf("%w (%w): %s", ErrDamaged, err, advice)
		}
		return err
	}
	switch e.Code() & 0xff {
	case sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB:
		return fmt.Errorf("%w (%w): %s", ErrDamaged, err, advice)
	case sqlite3.SQLITE_ERROR: // of statements that are right
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

// diskError is the failure of a disk, with what to do about it.
type diskError struct {
	reason string
	cause  error
}

func (e *diskError) Error() string { return e.reason + " (" + e.cause.Error() + ")" }
func (e *diskError) Unwrap() error { return e.cause }

// Reason says what is wrong and what to do, for people.
func (e *diskError) Reason() string { return e.reason }

// conn is the connection that writes, with its prepared statements. Its calls
// take no context: a commit is not to be interrupted half way.
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
		c.exec("ROLLBACK") // fails when SQLite has rolled back by itself
	}
	return err
}

func (c *conn) close() error {
	for _, st := range c.stmts {
		st.Close()
	}
	return c.Conn.Close()
}
