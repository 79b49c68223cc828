package rpc

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"

	"github.com/ahphub/ahphub/hub"
	"github.com/ahphub/ahphub/hub/ahp"
)

// version is MAJOR.MINOR.PATCH (AHP requirement 24).
type version struct{ major, minor, patch int }

// supported lists what is spoken, highest first. 0.9, 0.10.0 and 1.0 share one
// wire contract; 0.10.0 was never released and is met as itself alone.
var supported = []struct {
	version
	anyPatch bool
}{
	{version{1, 0, 0}, true},
	{version{0, 10, 0}, false},
	{version{0, 9, 0}, true},
}

func parseVersion(s string) (version, error) {
	parts := strings.Split(s, ".")
	var n [3]int
	ok := len(parts) == 3
	for i := 0; ok && i < 3; i++ {
		var err error
		n[i], err = strconv.Atoi(parts[i])
		ok = err == nil && strconv.Itoa(n[i]) == parts[i] && n[i] >= 0
	}
	if !ok {
		return version{}, ahp.Errorf(ahp.CodeInvalidParams, "protocolVersions: %q is not a version: write MAJOR.MINOR.PATCH", s)
	}
	return version{n[0], n[1], n[2]}, nil
}

func (v version) compare(w version) int {
	return cmp.Or(cmp.Compare(v.major, w.major), cmp.Compare(v.minor, w.minor), cmp.Compare(v.patch, w.patch))
}

func (v version) String() string { return fmt.Sprintf("%d.%d.%d", v.major, v.minor, v.patch) }

func (v version) spoken() bool {
	for _, s := range supported {
		if v.major == s.major && v.minor == s.minor && (s.anyPatch || v.patch == s.patch) {
			return true
		}
	}
	return false
}

// maxOffers bounds the versions a client may offer.
const maxOffers = 64

// negotiate picks the highest version that is offered and spoken, whatever the
// order (AHP requirements 15, 16 and 20).
func negotiate(offered []string) (version, error) {
	if len(offered) == 0 || len(offered) > maxOffers {
		return version{}, ahp.Errorf(ahp.CodeInvalidParams, "protocolVersions: offer between 1 and %d versions", maxOffers)
	}
	var best version
	for _, s := range offered {
		v, err := parseVersion(s)
		if err != nil {
			return version{}, err
		}
		if v.spoken() && v.compare(best) > 0 {
			best = v
		}
	}
	if best == (version{}) {
		return version{}, unsupported(offered)
	}
	return best, nil
}

// unsupported carries what is spoken (AHP requirement 18).
func unsupported(offered []string) error {
	data := ahp.UnsupportedProtocolVersionErrorData{}
	for _, s := range supported {
		data.SupportedVersions = append(data.SupportedVersions, s.String())
	}
	return &ahp.Error{Code: ahp.CodeUnsupportedProtocolVersion, Data: data,
		Message: fmt.Sprintf("this host speaks AHP %s, not %s", strings.Join(data.SupportedVersions, ", "), strings.Join(offered, ", "))}
}

// knows tells whether an action type exists in the version: others are not sent
// (AHP requirement 22).
func (v version) knows(actionType string) bool {
	info, ok := ahp.Info(actionType)
	if !ok {
		return true // an action of somebody newer than us: pass it on
	}
	since, err := parseVersion(info.Since)
	v.patch = since.patch
	return err != nil || since.compare(v) <= 0
}

// dialect is how a connection is spoken to. Connections of one version and
// audience share their encodings.
type dialect struct {
	version version
	key     string
	encode  func(*hub.Envelope) []byte
}

func newDialect(v version, audience string) dialect {
	return dialect{version: v, key: fmt.Sprintf("%d.%d %s", v.major, v.minor, audience),
		encode: func(e *hub.Envelope) []byte {
			if e.Origin == nil && !v.knows(e.Action.ActionType()) {
				return nil
			}
			return encodeEnvelope(e)
		}}
}
