package main

import (
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/ahphub/ahphub/hub/store"
)

type backupCommand struct {
	Data string `default:"${data}" placeholder:"DIR" help:"Data directory. Default: ${default}."`
	Path string `arg:"" help:"File to write; it must not exist."`
}

// Run copies the database, even while an ahphub is serving from it.
func (c backupCommand) Run(e *environment) error {
	if err := store.BackupDir(e.ctx, c.Data, c.Path); err != nil {
		return err
	}
	printLine(e.stdout, "backup", c.Path)
	if err := markBackup(c.Data, time.Now()); err != nil {
		printLine(e.stdout, "note", "The time of this backup could not be noted for /metrics: "+err.Error())
	}
	return nil
}

// lastBackupFile has the time of the newest backup. It is a file because a backup is made by another process than the
// one that serves.
const lastBackupFile = "last-backup"

// markBackup notes when the data directory was last backed up.
func markBackup(data string, at time.Time) error {
	return os.WriteFile(filepath.Join(data, lastBackupFile), []byte(at.UTC().Format(time.RFC3339)+"\n"), 0o600)
}

// readLastBackup returns when that was, in seconds since 1970; 0 if never or not known.
func readLastBackup(data string) float64 {
	raw, err := os.ReadFile(filepath.Join(data, lastBackupFile))
	if err != nil {
		return 0
	}
	at, err := time.Parse(time.RFC3339, strings.TrimSpace(string(raw)))
	if err != nil {
		return 0
	}
	return float64(at.Unix())
}
