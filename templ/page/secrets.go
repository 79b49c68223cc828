package page

import (
	"strconv"
	"strings"
	"time"

	"github.com/ahphub/ahphub/templ/part"
)

// Secrets are a person's secrets, without values.
type Secrets struct {
	Frame    part.Frame
	Items    []Secret
	Sessions []SecretSession // choices for a grant
	Error    string
	Name     string // as entered and refused
	Dirs     string // as entered
	File     bool
	Key      string // id of the sealing key
	Source   string // the key's file, if only the owner can change it; "" otherwise
	Shared   bool   // every node of a cluster has the key
}

// Secret is one secret.
type Secret struct {
	Name     string
	File     bool
	Locked   bool
	Changed  time.Time
	Sessions []SecretSession
	Dirs     []string
}

// SecretSession is a session that has, or could have, a secret.
type SecretSession struct{ Short, Title string }

// kind describes how programs get the value.
func (s *Secret) kind() string {
	if s.File {
		return "file"
	}
	return "variable"
}

// given describes who has the secret.
func (s *Secret) given() string {
	var parts []string
	if n := len(s.Sessions); n > 0 {
		parts = append(parts, countOf(n, "session"))
	}
	if n := len(s.Dirs); n > 0 {
		parts = append(parts, countOf(n, "repository"))
	}
	if len(parts) == 0 {
		return "No session has it yet"
	}
	return "Available in " + strings.Join(parts, " and ")
}

func countOf(n int, noun string) string {
	switch {
	case n == 1:
		return "1 " + noun
	case strings.HasSuffix(noun, "y"):
		return strconv.Itoa(n) + " " + strings.TrimSuffix(noun, "y") + "ies"
	}
	return strconv.Itoa(n) + " " + noun + "s"
}

// others returns the sessions without the secret.
func (s *Secret) others(all []SecretSession) (list []SecretSession) {
	for _, one := range all {
		has := false
		for _, mine := range s.Sessions {
			has = has || mine.Short == one.Short
		}
		if !has {
			list = append(list, one)
		}
	}
	return list
}

// changeKey returns the next step after the owner changed the key's file.
func changeKey(shared bool) string {
	if shared {
		return "do so on every node of the cluster before you rotate the key"
	}
	return "restart ahphub"
}

func sharedKey(shared bool) string {
	if shared {
		return " of every node of the cluster"
	}
	return ""
}
