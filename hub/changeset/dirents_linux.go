package changeset

import (
	"bytes"
	"encoding/binary"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
)

// The offsets in the kernel's directory entry records.
const (
	direntLength = 16
	direntType   = 18
	direntName   = 19
)

var direntModes = map[byte]fs.FileMode{
	syscall.DT_REG: 0, syscall.DT_DIR: fs.ModeDir, syscall.DT_LNK: fs.ModeSymlink, syscall.DT_FIFO: fs.ModeNamedPipe,
	syscall.DT_SOCK: fs.ModeSocket, syscall.DT_CHR: fs.ModeDevice | fs.ModeCharDevice, syscall.DT_BLK: fs.ModeDevice,
}

// eachName visits the names in a directory with their types, unordered. A name is only valid during
// the call, because a look at a large work tree visits many names and keeps few. An unreadable
// directory has none.
func eachName(dir string, visit func(name []byte, mode fs.FileMode) error) error {
	fd, err := syscall.Open(dir, syscall.O_RDONLY|syscall.O_DIRECTORY|syscall.O_CLOEXEC, 0)
	if err != nil {
		return nil
	}
	defer func() { _ = syscall.Close(fd) }()
	buf := make([]byte, 32<<10)
	for {
		n, err := syscall.ReadDirent(fd, buf)
		if err == syscall.EINTR {
			continue
		}
		if err != nil || n <= 0 {
			return nil
		}
		for in := buf[:n]; len(in) > direntName; {
			length := int(binary.NativeEndian.Uint16(in[direntLength:]))
			if length <= direntName || length > len(in) {
				return nil
			}
			name, _, _ := bytes.Cut(in[direntName:length], []byte{0})
			kind := in[direntType]
			if in = in[length:]; string(name) == "." || string(name) == ".." {
				continue
			}
			if err := visit(name, direntMode(dir, name, kind)); err != nil {
				return err
			}
		}
	}
}

// direntMode stats the file if its directory entry has no type.
func direntMode(dir string, name []byte, kind byte) fs.FileMode {
	mode, known := direntModes[kind]
	if known {
		return mode
	}
	if info, err := os.Lstat(filepath.Join(dir, string(name))); err == nil {
		return info.Mode().Type()
	}
	return 0
}
