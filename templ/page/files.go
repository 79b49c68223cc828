package page

import (
	"time"

	"github.com/ahphub/ahphub/templ/part"
)

// FileAsk is a request for files that waits for the owner: from a client, or to follow a path in a repository.
type FileAsk struct {
	ID     string
	Name   string // of the client's principal
	Client string
	Path   string
	As     string // the path as requested, if different
	Dir    bool
	Write  bool

	Repository string // the file of a repository with the path; "" if a client asks
}

func (a *FileAsk) action() string { return "/files/" + a.ID }

func (a *FileAsk) verb() string {
	if a.Write {
		return "read and write"
	}
	return "read"
}

func (a *FileAsk) what() string {
	if a.Dir {
		return "a directory"
	}
	return "a file"
}

// means describes what allowing the request gives access to.
func (a *FileAsk) means() string {
	switch {
	case a.Repository != "":
		return "Everyone who can see the session's changes will be able to read files and versions in it."
	case a.Dir && a.Write:
		return "The client will be able to read, change and delete everything in it."
	case a.Dir:
		return "The client will be able to read everything in it."
	case a.Write:
		return "The client will be able to read and change it."
	}
	return ""
}

// hidden counts invisible characters, which could mislead a reader.
func (a *FileAsk) hidden() int {
	return part.Hidden(a.Path) + part.Hidden(a.As) + part.Hidden(a.Client) + part.Hidden(a.Name) +
		part.Hidden(a.Repository)
}

// FileGrant is access to files outside of the sessions' directories.
type FileGrant struct {
	ID, Name, By, Path string
	Dir, Write         bool
	At                 time.Time
}

func (g *FileGrant) may() string {
	if g.Write {
		return "read and write"
	}
	return "read"
}

func (g *FileGrant) base() string { return "/people/files/" + g.ID + "/revoke" }
