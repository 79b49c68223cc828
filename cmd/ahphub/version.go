package main

import (
	"fmt"
	"runtime"
	"runtime/debug"
)

// version is set by the Makefile; with go install, the module's version is used.
var version = ""

type versionCommand struct{}

func (versionCommand) Run(e *environment) error {
	_, err := fmt.Fprintf(e.stdout, "ahphub %s %s %s/%s\n", versionName(), runtime.Version(), runtime.GOOS,
		runtime.GOARCH)
	return err
}

func versionName() string {
	if version != "" {
		return version
	}
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "" {
		return info.Main.Version
	}
	return "unknown"
}
