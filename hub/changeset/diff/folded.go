package diff

import (
	"bytes"
	"path"
	"strings"
)

// Folded returns the kind of a file that should start folded, from its name: "a lock file", "a
// notebook"; "" for others.
func Folded(name string) string {
	base := strings.ToLower(path.Base(name))
	switch {
	case lockFiles[base] || strings.HasSuffix(base, ".lock") || strings.HasSuffix(base, "-lock.json"):
		return "a lock file"
	case strings.HasSuffix(base, ".ipynb"):
		return "a notebook"
	case strings.Contains(base, ".min.") || strings.HasSuffix(base, ".map") || strings.HasSuffix(base, ".bundle.js"):
		return "minified"
	}
	for _, end := range made {
		if strings.HasSuffix(base, end) {
			return "generated"
		}
	}
	return ""
}

var lockFiles = map[string]bool{
	"go.sum": true, "go.work.sum": true, "pnpm-lock.yaml": true, "packages.resolved": true, "npm-shrinkwrap.json": true,
	"bun.lockb": true, "gradle.lockfile": true, "mix.lock": true, "cartfile.resolved": true, "module.bazel.lock": true,
	"project.assets.json": true,
}

var made = [...]string{".pb.go", "_templ.go", "_string.go", "_pb2.py", "_pb2.pyi", "_pb2_grpc.py", ".pb.cc", ".pb.h",
	".g.dart", ".freezed.dart", ".designer.cs", ".generated.ts", ".snap"}

// saysGenerated reports whether a file's first lines say that it was generated.
func saysGenerated(data []byte) bool {
	for line := range bytes.Lines(data[:min(len(data), 2048)]) {
		if bytes.Contains(line, []byte("Code generated")) && bytes.Contains(line, []byte("DO NOT EDIT")) ||
			bytes.Contains(line, []byte("@generated")) {
			return true
		}
	}
	return false
}
