package main

import (
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
	return nil
}
