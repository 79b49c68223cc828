package rpc

import (
	"fmt"
	"strings"

	"github.com/ahphub/ahphub/hub"
	"github.com/ahphub/ahphub/hub/ahp"
	"github.com/ahphub/ahphub/hub/ahp/dialect"
)

// maxOffers bounds the versions in a client's offer.
const maxOffers = 64

// negotiate picks the highest version that is both offered and implemented, regardless of order (AHP requirements
// 15, 16 and 20). Without one it takes the highest later 1.x, and speaks 1.0 to its client.
func negotiate(offered []string) (dialect.Version, error) {
	if len(offered) == 0 || len(offered) > maxOffers {
		return dialect.Version{}, ahp.Errorf(ahp.CodeInvalidParams, "protocolVersions: offer between 1 and %d versions",
			maxOffers)
	}
	var best, later dialect.Version
	for _, s := range offered {
		v, err := dialect.Parse(s)
		if err != nil {
			return best, ahp.Errorf(ahp.CodeInvalidParams, "protocolVersions: %v", err)
		}
		if _, spoken := dialect.Of(v); !spoken {
			continue
		}
		if dialect.Implements(v) {
			best = higher(best, v)
		} else {
			later = higher(later, v)
		}
	}
	if best == (dialect.Version{}) {
		best = later
	}
	if best == (dialect.Version{}) {
		return best, errUnsupported(offered)
	}
	return best, nil
}

func higher(a, b dialect.Version) dialect.Version {
	if a.Compare(b) >= 0 {
		return a
	}
	return b
}

// errUnsupported returns an error that carries the supported versions (AHP requirement 18).
func errUnsupported(offered []string) error {
	data := ahp.UnsupportedProtocolVersionErrorData{SupportedVersions: dialect.Supported()}
	return &ahp.Error{Code: ahp.CodeUnsupportedProtocolVersion, Data: data,
		Message: fmt.Sprintf("this server supports AHP %s, not %s", strings.Join(data.SupportedVersions, ", "),
			strings.Join(offered, ", "))}
}

// clientDialect is a connection's dialect and audience. Connections with the same clientDialect
// share their encodings.
type clientDialect struct {
	*dialect.Dialect
	version dialect.Version
	key     string
	encode  func(*hub.Envelope) []byte
	notify  func(*hub.Notification) []byte
}

func newClientDialect(v dialect.Version, audience string) clientDialect {
	d, _ := dialect.Of(v) // it was negotiated
	return clientDialect{Dialect: d, version: v, key: d.Name() + " " + audience,
		encode: func(e *hub.Envelope) []byte { return encodeEnvelope(d, e) },
		notify: func(n *hub.Notification) []byte { return encodeNotification(d, n) }}
}
