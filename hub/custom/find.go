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

// reader makes the entries of one file.
type reader func(s *search, spot spot, file string) []Entry

// search is one look into a root. Its paths are relative to it, with slashes.
type search struct {
	root   Root
	limits Limits
	fs     *os.Root
	files  int // that may still be read
	found  Found

	folders []string // that were looked into, absolute
}

// Find looks into a root. One that cannot be opened has nothing.
func Find(root Root, limits Limits) Found {
	found, _ := find(root, limits)
	return found
}

// find looks into a root, and returns which folders it has read.
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

// look makes a group of what lies at a spot; none when nothing does.
func (s *search) look(sp spot) {
	g := s.group(sp)
	if g != nil {
		s.found.Groups = append(s.found.Groups, *g)
	}
}

// group is a spot as a directory of its own; nil when it does not exist. A directory named for its kind is told
// even when it is empty: things can be put there.
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

// list names the files of a spot that exist.
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

// walk lists a folder in the order of its names.
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
			_ = s.walk(sp, file, depth-1, files) // the others are told
		case sp.kind != Skill && info.Mode().IsRegular() && strings.HasSuffix(name, sp.match):
			*files = append(*files, file)
		}
	}
	return nil
}

// skill is a folder with a file that says what it is.
func (s *search) skill(dir string, files *[]string) {
	s.enter(dir)
	file := path.Join(dir, "SKILL.md")
	if info, err := s.fs.Stat(file); err == nil && info.Mode().IsRegular() {
		*files = append(*files, file)
	}
}

// enter notes a folder, and those above it, to be watched; false when it does not exist.
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

// read returns at most the first bytes of a file; with whole a longer one is an error. What is no plain file is not
// waited for.
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

// plain returns an error without the path, which is shown beside it.
func plain(err error) string {
	if p, ok := errors.AsType[*fs.PathError](err); ok {
		err = p.Err
	}
	return "cannot be read: " + err.Error()
}

func problemf(format string, args ...any) string {
	return texts.ElideBytes(fmt.Sprintf(format, args...), 300)
}
