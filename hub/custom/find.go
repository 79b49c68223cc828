package custom

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/ahphub/ahphub/hub/texts"
)

// reader returns the entries of one file.
type reader func(s *search, spot spot, file string) []Entry

// search is one search of a root. Its paths are relative to it, with slashes.
type search struct {
	root   Root
	limits Limits
	fs     *os.Root
	files  int // number that may still be read
	found  Found

	folders []string // to watch, absolute
}

// Find searches a root. A root that cannot be opened has nothing.
func Find(root Root, limits Limits) Found {
	found, _ := find(root, limits)
	return found
}

// find searches a root, and also returns the folders to watch.
func find(root Root, limits Limits) (found Found, folders []string) {
	limits = limits.withDefaults()
	s := &search{root: root, limits: limits, files: limits.Files}
	var err error
	if s.fs, err = os.OpenRoot(root.Dir); err != nil {
		return s.found, nil
	}
	defer s.fs.Close()
	s.folders = []string{root.Dir}
	for _, spot := range spotsOf(root.Place) {
		s.look(spot)
	}
	if root.Place != Own {
		s.plugins()
	}
	for _, c := range configsOf(root.Place) {
		s.enter(path.Dir(c.file))
		s.found.Servers = append(s.found.Servers, s.servers(c, "")...)
	}
	return s.found, s.folders
}

// look adds the group of a spot, if there is one.
func (s *search) look(sp spot) {
	g := s.group(sp)
	if g != nil {
		s.found.Groups = append(s.found.Groups, *g)
	}
}

// group returns the group of a spot; nil if the spot does not exist. A spot without fixed file
// names is listed even when it is empty: files can be added there.
func (s *search) group(sp spot) *Group {
	entries, there, problem := s.entries(sp)
	if !there || len(sp.files) > 0 && len(entries) == 0 {
		return nil
	}
	at := s.abs(sp.dir)
	return &Group{ID: entryID(s.root, at, "dir:"+string(sp.kind)), Path: at, Name: relPath(s.root, at),
		Contents: sp.kind, Problem: problem, Entries: entries}
}

func (s *search) entries(sp spot) (list []Entry, there bool, problem string) {
	files, there, err := s.list(sp)
	if err != nil {
		problem = plain(err)
	}
	for _, f := range files {
		if s.files--; s.files < 0 || len(list) >= s.limits.Entries {
			s.found.Over = true
			break
		}
		list = append(list, sp.read(s, sp, f)...)
	}
	return list[:min(len(list), s.limits.Entries)], there, problem
}

// list returns the files of a spot that exist.
func (s *search) list(sp spot) (files []string, there bool, err error) {
	if there = s.enter(sp.dir); !there {
		return nil, false, nil
	}
	for _, name := range sp.files {
		file := path.Join(sp.dir, name)
		if info, err := s.fs.Stat(file); err == nil && info.Mode().IsRegular() {
			files = append(files, file)
		}
	}
	if len(sp.files) > 0 {
		return files, true, nil
	}
	err = s.walk(sp, sp.dir, s.limits.Depth, &files)
	return files, true, err
}

// walk lists a folder, sorted by name.
func (s *search) walk(sp spot, dir string, depth int, files *[]string) error {
	s.enter(dir)
	f, err := s.fs.Open(dir)
	if err != nil {
		return err
	}
	names, err := f.Readdirnames(2 * s.limits.Files)
	f.Close()
	if err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	slices.Sort(names)
	for _, name := range names {
		if len(*files) > s.limits.Entries {
			return nil
		}
		file := path.Join(dir, name)
		info, err := s.fs.Stat(file) // a link out of the root is an error, too
		switch {
		case err != nil:
		case sp.kind == Skill && info.IsDir():
			s.skill(file, files)
		case info.IsDir() && sp.deep && depth > 1 && name != "node_modules":
			_ = s.walk(sp, file, depth-1, files) // the other files are listed
		case sp.kind != Skill && info.Mode().IsRegular() && strings.HasSuffix(name, sp.match):
			*files = append(*files, file)
		}
	}
	return nil
}

// skill adds the SKILL.md of a folder, if it has one.
func (s *search) skill(dir string, files *[]string) {
	s.enter(dir)
	file := path.Join(dir, "SKILL.md")
	if info, err := s.fs.Stat(file); err == nil && info.Mode().IsRegular() {
		*files = append(*files, file)
	}
}

// enter records a folder and its parents, to be watched; false if it does not exist.
func (s *search) enter(dir string) bool {
	info, err := s.fs.Stat(dir)
	if dir != "." && dir != "/" && (err != nil || !info.IsDir()) {
		s.enter(path.Dir(dir))
		return false
	}
	if at := s.abs(dir); err == nil && !slices.Contains(s.folders, at) {
		s.enter(path.Dir(dir))
		s.folders = append(s.folders, at)
	}
	return err == nil && info.IsDir()
}

func (s *search) abs(rel string) string { return filepath.Join(s.root.Dir, filepath.FromSlash(rel)) }

var errTooLarge = errors.New("it is too large to be read")

// read returns at most the first bytes of a file; with whole, a longer file is an error. It never
// blocks on special files.
func (s *search) read(file string, most int64, whole bool) ([]byte, error) {
	f, err := s.fs.OpenFile(file, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	switch {
	case err != nil:
		return nil, err
	case !info.Mode().IsRegular():
		return nil, errors.New("it is not a file")
	case whole && info.Size() > most:
		return nil, errTooLarge
	}
	return io.ReadAll(io.LimitReader(f, most))
}

// plain returns an error without the path, which is shown next to it.
func plain(err error) string {
	if p, ok := errors.AsType[*fs.PathError](err); ok {
		err = p.Err
	}
	return "cannot be read: " + err.Error()
}

func problemf(format string, args ...any) string {
	return texts.ElideBytes(fmt.Sprintf(format, args...), 300)
}
