package store

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// lockDir locks the directory for this process. The lock ends with the open file, so a killed
// process needs no cleanup; the process id in it is only for messages. touched is when the previous
// process last touched the file.
func lockDir(dir string) (f *os.File, touched time.Time, err error) {
	path := filepath.Join(dir, lockName)
	f, err = os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, touched, fmt.Errorf("data directory %s is not writable: %w", dir, err)
	}
	if err := tryLock(f); err != nil {
		holder := lockHolder(f)
		f.Close()
		return nil, touched, fmt.Errorf("%w: %s is held by process %s: stop it, or choose another data directory",
			ErrLocked, path, holder)
	}
	if info, err := f.Stat(); err == nil && info.Size() > 0 {
		touched = info.ModTime()
	}
	err = f.Truncate(0)
	if err == nil {
		_, err = f.WriteAt([]byte(strconv.Itoa(os.Getpid())+"\n"), 0)
	}
	if err != nil {
		f.Close()
		return nil, touched, fmt.Errorf("data directory %s is not writable: %w", dir, err)
	}
	return f, touched, nil
}

func lockHolder(f *os.File) string {
	b, err := io.ReadAll(io.LimitReader(f, 32))
	if pid := strings.TrimSpace(string(b)); err == nil && pid != "" {
		return pid
	}
	return "(unknown)"
}
