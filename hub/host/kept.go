package host

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/ahphub/ahphub/hub/ahp"
	"github.com/ahphub/ahphub/hub/host/core"
	"github.com/ahphub/ahphub/hub/machine"
	"github.com/ahphub/ahphub/hub/version"
)

const (
	mostKept      = 2 << 20 // bytes per file version
	mostKeptFiles = 2000    // versions per session
)

var errKeptFull = errors.New("this session stores the maximum number of file versions")

// Keep implements agent.Keeper.
func (a agentHost) Keep(path string, content []byte) (ahp.ContentRef, error) {
	if len(content) > mostKept {
		return ahp.ContentRef{}, errKeptFull
	}
	sum := sha256.Sum256(content)
	oid := hex.EncodeToString(sum[:])
	if err := writeKept(keptDir(a.l.h.agentData(a.l.uri)), oid, content); err != nil {
		return ahp.ContentRef{}, err
	}
	named := version.Ref{Session: core.ShortID(a.l.uri), OID: oid, Path: path, Kind: version.Kept}
	return ahp.ContentRef{URI: named.URI(), SizeHint: ahp.Ptr(int64(len(content))), Nonce: oid}, nil
}

// keptDir returns the directory of a session's file versions, in its agent's data.
func keptDir(agentData string) string { return filepath.Join(agentData, "edits") }

func writeKept(dir, oid string, content []byte) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	file := filepath.Join(dir, oid)
	if _, err := os.Stat(file); err == nil {
		return nil
	}
	there, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	if len(there) >= mostKeptFiles {
		return errKeptFull
	}
	return os.WriteFile(file, content, 0o600)
}

// readKept reads a version stored by Keep.
func readKept(dir, oid string) ([]byte, error) {
	if !machine.IsOID(oid) {
		return nil, machine.ErrNoContent
	}
	data, err := os.ReadFile(filepath.Join(dir, oid))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, machine.ErrNoContent
	}
	return data, err
}
