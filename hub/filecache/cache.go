// Package filecache keeps small results between runs of the program, each in a file of its own. Its
// entries can be computed again: they are not synced, not part of a backup, and removed when in
// doubt.
package filecache

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"runtime"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"syscall"
)

// Config configures a Cache.
type Config struct {
	Dir     string // created with mode 0700; for the cache only
	Bytes   int64  // of all files; default 64 MiB
	Entries int    // default 20 000
	Free    uint64 // bytes to keep free on the disk: with less nothing is added; default 256 MiB
}

const mostData = 1 << 20 // bytes of one entry

// Cache stores data by key. When it is full, it removes the entries that were written first.
type Cache struct {
	cfg  Config
	root *os.Root
	name atomic.Int64 // of the next temporary file

	mu      sync.Mutex // held while entries are added
	counted bool
	bytes   int64
	entries int
}

// Open opens the cache of a directory, and creates the directory.
func Open(cfg Config) (*Cache, error) {
	if cfg.Bytes == 0 {
		cfg.Bytes = 64 << 20
	}
	if cfg.Entries == 0 {
		cfg.Entries = 20_000
	}
	if cfg.Free == 0 {
		cfg.Free = 256 << 20
	}
	if err := os.Mkdir(cfg.Dir, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return nil, err
	}
	root, err := os.OpenRoot(cfg.Dir)
	if err != nil {
		return nil, err
	}
	if err := checkDir(root); err != nil {
		return nil, errors.Join(fmt.Errorf("the cache %s cannot be used: %w", cfg.Dir, err), root.Close())
	}
	return &Cache{cfg: cfg, root: root}, nil
}

// checkDir denies other users access to the directory.
func checkDir(root *os.Root) error {
	info, err := root.Stat(".")
	if err == nil && info.Mode().Perm() != 0o700 {
		err = root.Chmod(".", 0o700)
	}
	return err
}

// Close releases the directory.
func (c *Cache) Close() error {
	if c == nil {
		return nil
	}
	return c.root.Close()
}

// An entry is the magic line, the SHA-256 of its key and its data, and its data.
const (
	magic      = "ahphub cache 1\n"
	headerSize = len(magic) + sha256.Size
)

func sumOf(key string, data []byte) []byte {
	sum := sha256.New()
	sum.Write(strconv.AppendInt(nil, int64(len(key)), 10))
	sum.Write([]byte("\n" + key))
	sum.Write(data)
	return sum.Sum(nil)
}

// nameOf returns the file name of a key.
func nameOf(key string) string {
	sum := sha256.Sum256([]byte(key))
	return hex.EncodeToString(sum[:])
}

// Get returns the data of a key, nil if there is none. It removes a damaged entry.
func (c *Cache) Get(key string) []byte {
	if c == nil {
		return nil
	}
	name := nameOf(key)
	data, err := c.read(name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil || len(data) < headerSize || string(data[:len(magic)]) != magic ||
		!bytes.Equal(data[len(magic):headerSize], sumOf(key, data[headerSize:])):
		c.drop(name)
		return nil
	}
	return data[headerSize:]
}

var errForeign = errors.New("this is no file of the cache")

// read reads a file of the cache. Files that others may read or write, links and pipes are errors.
func (c *Cache) read(name string) ([]byte, error) {
	info, err := c.root.Lstat(name)
	if err != nil {
		return nil, err
	}
	if !isEntry(info) {
		return nil, errForeign
	}
	f, err := c.root.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0) // it may have become a pipe
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if info, err = f.Stat(); err != nil || !isEntry(info) {
		return nil, errForeign
	}
	data := make([]byte, info.Size())
	_, err = f.ReadAt(data, 0)
	return data, err
}

func isEntry(info fs.FileInfo) bool {
	private := info.Mode() == 0o600 || runtime.GOOS == "windows" && info.Mode().IsRegular() // Windows has no such modes
	return private && info.Size() <= int64(headerSize+mostData)
}

// drop removes an invalid file.
func (c *Cache) drop(name string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.root.RemoveAll(name) == nil && c.counted {
		c.counted = false // its size is unknown
	}
}

// Put stores data for a key, if there is room. It reports no error: what is not stored is computed
// again.
func (c *Cache) Put(key string, data []byte) {
	if c == nil || len(data) > mostData {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.makeRoom(int64(headerSize + len(data))) {
		return
	}
	name := nameOf(key)
	if _, err := c.root.Lstat(name); err == nil {
		return // the same key, the same data
	}
	if err := c.write(name, slices.Concat([]byte(magic), sumOf(key, data), data)); err != nil {
		return
	}
	c.bytes += int64(headerSize + len(data))
	c.entries++
}

// write creates a file atomically.
func (c *Cache) write(name string, data []byte) error {
	temp := fmt.Sprintf("new-%d-%d", os.Getpid(), c.name.Add(1))
	f, err := c.root.OpenFile(temp, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	if err = errors.Join(err, f.Close()); err == nil {
		err = c.root.Rename(temp, name)
	}
	if err != nil {
		_ = c.root.Remove(temp)
	}
	return err
}

// makeRoom reports whether an entry of a size may be added, and removes others for it.
func (c *Cache) makeRoom(size int64) bool {
	if !hasRoom(c.root, c.cfg.Free) {
		return false
	}
	if !c.counted {
		if err := c.sweep(c.cfg.Bytes, c.cfg.Entries); err != nil {
			return false
		}
	}
	if c.bytes+size <= c.cfg.Bytes && c.entries < c.cfg.Entries {
		return true
	}
	// It removes a quarter at once, so that it does not list the directory for each entry.
	return c.sweep(c.cfg.Bytes-max(c.cfg.Bytes/4, size), c.cfg.Entries*3/4) == nil && c.bytes+size <= c.cfg.Bytes
}

// sweep counts the entries. It removes other files, and the oldest entries beyond a size and a
// number.
func (c *Cache) sweep(bytes int64, entries int) error {
	list, err := fs.ReadDir(c.root.FS(), ".")
	if err != nil {
		return err
	}
	var all []fs.FileInfo
	c.bytes, c.entries = 0, 0
	for _, e := range list {
		info, err := e.Info()
		if err != nil {
			continue // removed meanwhile
		}
		if len(e.Name()) != hex.EncodedLen(sha256.Size) || !isEntry(info) {
			if err := c.root.RemoveAll(e.Name()); err != nil {
				return err
			}
			continue
		}
		all, c.bytes, c.entries = append(all, info), c.bytes+info.Size(), c.entries+1
	}
	slices.SortFunc(all, func(a, b fs.FileInfo) int { return a.ModTime().Compare(b.ModTime()) })
	for _, info := range all {
		if c.bytes <= bytes && c.entries <= entries {
			break
		}
		if err := c.root.Remove(info.Name()); err != nil {
			return err
		}
		c.bytes, c.entries = c.bytes-info.Size(), c.entries-1
	}
	c.counted = true
	return nil
}
