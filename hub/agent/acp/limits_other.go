//go:build !linux

package acp

func noCore(int) error { return nil }

func limitProcesses(int, int) error { return nil }
