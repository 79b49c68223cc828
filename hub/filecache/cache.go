// Package filecache keeps small results between runs of the program, each in a file of its own. What it holds can be
// made again: it is not synced, not part of a backup, and gone when anything about it is doubtful.
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
	Dir     string // made with mode 0700; it is the cache's alone
	Bytes   int64  // of all files; default 64 MiB
	Entries int    // default 20 000
	Free    uint64 // bytes that the disk keeps free: with less nothing is added; default 256 MiB
}

const mostData = 1 << 20 // bytes of one entry

// Cache keeps data by key. Of entries it has no room for, those that were written first go.
type Cache struct {
	cfg  Config
	root *os.Root
	name atomic.Int64 // of the next temporary file

	mu      sync.Mutex // held while something is added
	counted bool
	bytes   int64
	entries int
}

// Open opens the cache of a directory, and makes the directory.
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

// checkDir makes sure that no other user reads the directory.
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

// An entry is a line, the SHA-256 of its key and its data, and its data.
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

// nameOf returns the file of a key.
func nameOf(key string) string {
	sum := sha256.Sum256([]byte(key))
	return hex.EncodeToString(sum[:])
}

// Get returns the data of a key, nil when there is none. An entry that is not as it was written is removed.
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

// read reads a file of the cache. One that others may read or write is none, nor is a link or a pipe.
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
	private := info.Mode() == 0o600 || runtime.GOOS == "windows" && info.Mode().IsRegular() // it has no such modes
	return private && info.Size() <= int64(headerSize+mostData)
}

// drop removes a file that is no entry.
func (c *Cache) drop(name string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.root.RemoveAll(name) == nil && c.counted {
		c.counted = false // its size is not known
	}
}

// Put keeps data for a key, as far as there is room. It reports nothing: what is not kept is made again.
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

// write makes a file that is there whole or not at all.
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

// makeRoom reports whether an entry of so many bytes may be added, and removes others for it.
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
	// A quarter goes at once, so that the directory is not listed for each entry.
	return c.sweep(c.cfg.Bytes-max(c.cfg.Bytes/4, size), c.cfg.Entries*3/4) == nil && c.bytes+size <= c.cfg.Bytes
}

// sweep counts what is there, and removes what is no entry and the oldest entries beyond a size and a number.
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
			continue // it is gone
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
