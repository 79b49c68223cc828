// Package place spells the directories, files and agents of a hub's machines, other than the hub's own computer.
package place

import (
	"net/url"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/ahphub/ahphub/hub/ahp"
)

// Prefix begins the paths of computers other than the hub's own: /machines/ID/home/me/src is /home/me/src on the
// machine ID. Paths with it on the hub's own computer are out of reach.
const Prefix = "/machines"

// machineID matches the id of a machine. It excludes upper case and characters that need encoding, so that a machine
// has one spelling.
var machineID = regexp.MustCompile(`^[0-9a-z][0-9a-z-]{0,63}$`)

// SplitPath returns the machine of an absolute path, "" for the hub's own computer, and the path there. It does not
// check that the machine exists.
func SplitPath(p string) (id, there string, err error) {
	if !path.IsAbs(p) || strings.ContainsRune(p, 0) {
		return "", "", ahp.Errorf(ahp.CodeInvalidParams, "%.200q is not an absolute path", p)
	}
	clean := path.Clean(p)
	if !isReserved(clean) {
		if isReserved(p) { // it leads from another computer to this one
			return "", "", refuseDots(p)
		}
		return "", clean, nil
	}
	if slices.Contains(strings.Split(p, "/"), "..") {
		return "", "", refuseDots(p)
	}
	id, there, _ = strings.Cut(strings.TrimPrefix(strings.TrimPrefix(clean, Prefix), "/"), "/")
	switch {
	case id == "":
		return "", "", ahp.Errorf(ahp.CodePermissionDenied,
			"%s holds the machines of this hub and can't be opened itself: add a machine's id", Prefix)
	case !machineID.MatchString(id):
		return "", "", ahp.Errorf(ahp.CodeNotFound, "%.200q is not a machine of this hub", id)
	}
	return id, "/" + there, nil
}

// JoinPath returns how the hub spells an absolute path of a machine; the id "" is its own computer. It refuses paths
// that SplitPath would not lead back to.
func JoinPath(id, there string) (string, error) {
	if !path.IsAbs(there) || strings.ContainsRune(there, 0) {
		return "", ahp.Errorf(ahp.CodeInvalidParams, "%.200q is not an absolute path", there)
	}
	clean := path.Clean(there)
	switch {
	case id == "" && isReserved(clean):
		return "", ahp.Errorf(ahp.CodePermissionDenied,
			"%.200s of the hub's own computer can't be opened: %s is the place of other machines", clean, Prefix)
	case id == "":
		return clean, nil
	case !machineID.MatchString(id):
		return "", ahp.Errorf(ahp.CodeNotFound, "%.200q is not a machine of this hub", id)
	}
	return strings.TrimSuffix(Prefix+"/"+id+clean, "/"), nil
}

// SplitURI returns the machine of a URI, "" for the hub's own computer, and the URI there. The own computer refuses
// URIs other than those of files.
func SplitURI(uri ahp.URI) (id string, there ahp.URI, err error) {
	u, err := url.Parse(uri)
	if err != nil || u.Scheme != "file" || u.Opaque != "" || u.Host != "" && u.Host != "localhost" {
		return "", uri, nil
	}
	escaped := strings.ToLower(u.EscapedPath())
	if u.RawQuery != "" || u.Fragment != "" || strings.Contains(escaped, "%2f") || strings.Contains(escaped, "%5c") {
		return "", uri, nil
	}
	id, p, err := SplitPath(u.Path)
	switch {
	case err != nil:
		return "", "", err
	case id == "":
		return "", uri, nil // as the client wrote it
	}
	return id, FileURI(p), nil
}

// JoinURI returns how the hub spells the URI of a machine's file. URIs other than those of files are unchanged.
func JoinURI(id string, there ahp.URI) (ahp.URI, error) {
	u, err := url.Parse(there)
	if err != nil || u.Scheme != "file" {
		return there, nil
	}
	p, err := JoinPath(id, u.Path)
	switch {
	case err != nil:
		return "", err
	case id == "":
		return there, nil
	}
	return FileURI(p), nil
}

// SplitProvider returns the machine of a provider, "" for the hub's own computer, and its name there. A name of the own
// computer may look like another computer's: look for the whole name there first.
func SplitProvider(provider string) (id, there string) {
	if at := strings.LastIndexByte(provider, '+'); at > 0 && machineID.MatchString(provider[at+1:]) {
		return provider[at+1:], provider[:at]
	}
	return "", provider
}

// JoinProvider returns how the hub spells a provider of a machine. It avoids @, as clients use the provider as scheme
// of a session's URI.
func JoinProvider(id, there string) string {
	if id == "" {
		return there
	}
	return there + "+" + id
}

// isReserved reports whether a path is the Prefix or below it.
func isReserved(p string) bool { return p == Prefix || strings.HasPrefix(p, Prefix+"/") }

// refuseDots refuses a path that its check and its use could resolve to different computers.
func refuseDots(p string) error {
	return ahp.Errorf(ahp.CodeInvalidParams, "%.200q has .. in it: write paths of other machines without", p)
}

// FileURI returns the URI of an absolute path.
func FileURI(p string) ahp.URI { return (&url.URL{Scheme: "file", Path: p}).String() }
