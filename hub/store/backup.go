package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"
)

// Backup writes a consistent copy of the database to path, which must not exist, while the store is
// in use. It never opens the file itself: see makeDB.
func (s *Store) Backup(ctx context.Context, path string) error {
	return backupDB(ctx, filepath.Join(s.cfg.Dir, databaseName), path)
}

// BackupDir backs up a data directory that another process may be serving.
func BackupDir(ctx context.Context, dir, path string) error {
	source := filepath.Join(dir, databaseName)
	if _, err := os.Stat(source); err != nil {
		return fmt.Errorf("no database to back up: %w", err)
	}
	if err := inspect(source); err != nil {
		return err
	}
	return backupDB(ctx, source, path)
}

func backupDB(ctx context.Context, source, path string) error {
	db, err := openDB(source, []string{"busy_timeout(5000)"})
	if err != nil {
		return err
	}
	return errors.Join(backup(ctx, db, path), db.Close())
}

// backup has SQLite write a compacted copy into a file that only its owner can read. It removes a
// partial copy.
func backup(ctx context.Context, db *sql.DB, path string) error {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return fmt.Errorf("backup: %w", err)
	}
	_, err = db.ExecContext(ctx, "VACUUM INTO ?", path)
	if err == nil {
		err = f.Sync()
	}
	if err = errors.Join(describe(err), f.Close()); err != nil {
		os.Remove(path)
		return fmt.Errorf("backup to %s: %w", path, err)
	}
	return nil
}
