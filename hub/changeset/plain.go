package changeset

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/ahphub/ahphub/hub/machine"
)

// special returns the kind of special file of a mode, "" for files, directories and links.
func special(mode fs.FileMode) string {
	switch {
	case mode&fs.ModeNamedPipe != 0:
		return "a named pipe"
	case mode&fs.ModeSocket != 0:
		return "a socket"
	case mode&fs.ModeDevice != 0:
		return "a device"
	case mode&fs.ModeIrregular != 0:
		return "no regular file"
	}
	return ""
}

// checkPlain refuses special files and links to them. Missing and unreadable files pass, because
// git does not wait for them; so does the null device, which settings name to disable a file.
func checkPlain(name string) error {
	info, err := os.Stat(name)
	if err != nil {
		return nil
	}
	if kind := special(info.Mode()); kind != "" && !isNull(info) {
		return &machine.SpecialFileError{Path: name, Kind: kind}
	}
	return nil
}

func isNull(info fs.FileInfo) bool {
	null, err := os.Stat(os.DevNull)
	return err == nil && os.SameFile(info, null)
}

// checkEntry does the same for a directory entry, whose type is known.
func checkEntry(dir string, d fs.DirEntry) error { return checkMode(dir, d.Name(), d.Type()) }

func checkMode(dir, name string, mode fs.FileMode) error {
	switch kind := special(mode); {
	case kind != "":
		return &machine.SpecialFileError{Path: filepath.Join(dir, name), Kind: kind}
	case mode&fs.ModeSymlink != 0:
		return checkPlain(filepath.Join(dir, name))
	}
	return nil
}

// openPlain opens a file for reading. It neither waits for a pipe nor returns one.
func openPlain(name string) (*os.File, error) {
	return plainFile(os.OpenFile(name, os.O_RDONLY|nonBlocking, 0))
}

// plainFile closes and refuses a special file that was opened.
func plainFile(f *os.File, err error) (*os.File, error) {
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	if err == nil {
		if kind := special(info.Mode()); kind != "" && !isNull(info) {
			err = &machine.SpecialFileError{Path: f.Name(), Kind: kind}
		}
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

// readPlain reads a file without waiting for a pipe. Error: ErrTooLarge above most bytes.
func readPlain(name string, most int64) ([]byte, error) {
	f, err := openPlain(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, most+1))
	if err == nil && int64(len(data)) > most {
		err = fmt.Errorf("%s: %w: more than %d bytes", name, machine.ErrTooLarge, most)
	}
	return data, err
}
