package page

import (
	"strconv"
	"strings"
	"time"

	"github.com/ahphub/ahphub/templ/part"
)

// Secrets are a person's named secrets, without their values.
type Secrets struct {
	Frame    part.Frame
	Items    []Secret
	Sessions []SecretSession // that can be given a secret
	Error    string
	Name     string // as it was typed and refused
	Dirs     string // as they were typed
	File     bool
	Key      string // id of the key that seals
	Source   string // the file of the key, when ahphub cannot change it; "" when it can
	Shared   bool   // every node of a cluster has the key
}

// Secret is one of them.
type Secret struct {
	Name     string
	File     bool
	Locked   bool
	Changed  time.Time
	Sessions []SecretSession
	Dirs     []string
}

// SecretSession is a session that has a secret, or could.
type SecretSession struct{ Short, Title string }

// kind says how programs find the value.
func (s *Secret) kind() string {
	if s.File {
		return "file"
	}
	return "variable"
}

// given says who has the secret.
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

// others returns the sessions that do not have the secret.
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

// changeKey returns what to do after a new key was put in the owner's file.
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
