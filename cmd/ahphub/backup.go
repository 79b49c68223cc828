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

// Run copies the database, also while an ahphub serves it.
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

// lastBackupFile has the time of the newest backup. It is a file because another process than the
// server makes backups.
const lastBackupFile = "last-backup"

// markBackup records the time of a backup of the data directory.
func markBackup(data string, at time.Time) error {
	return os.WriteFile(filepath.Join(data, lastBackupFile), []byte(at.UTC().Format(time.RFC3339)+"\n"), 0o600)
}

// readLastBackup returns the time of the last backup, in seconds since 1970; 0 if unknown.
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
