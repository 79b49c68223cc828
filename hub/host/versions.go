package host

import (
	"context"
	"errors"

	"github.com/ahphub/ahphub/hub/ahp"
	"github.com/ahphub/ahphub/hub/host/core"
	"github.com/ahphub/ahphub/hub/machine"
	"github.com/ahphub/ahphub/hub/version"
)

// Blob returns the file version that an ahp-blob: URI refers to, and the file's path. A submodule's
// version is a line with its commit.
func (h *Host) Blob(ctx context.Context, c core.Caller, uri ahp.URI) (data []byte, name string, err error) {
	session, b, err := h.blobAt(ctx, c, uri)
	if err != nil {
		return nil, "", err
	}
	switch {
	case b.Kind == version.Commit && machine.IsOID(b.OID):
		data = []byte("Subproject commit " + b.OID + "\n")
	case b.Kind == version.Kept:
		data, err = readKept(keptDir(h.agentData(session)), b.OID)
	default:
		data, err = h.git.Content(ctx, session, b.OID)
	}
	switch {
	case errors.Is(err, machine.ErrNoContent):
		return nil, "", ahp.Errorf(ahp.CodeNotFound, "%.200s is no longer stored", uri)
	case errors.Is(err, machine.ErrTooLarge):
		return nil, "", core.BadParams("uri: %v", err)
	}
	return data, b.Path, machine.ProtocolError(err)
}

// Blobs returns the versions that ahp-blob: URIs of a session refer to, read at once. Missing ones
// must be read by Blob, which returns the error.
func (h *Host) Blobs(ctx context.Context, c core.Caller, session ahp.URI, uris []ahp.URI) map[ahp.URI][]byte {
	named := map[ahp.URI]string{}
	var oids []string
	for _, uri := range uris {
		of, b, err := h.blobAt(ctx, c, uri)
		if err == nil && of == session && b.Kind == "" {
			named[uri] = b.OID
			oids = append(oids, b.OID)
		}
	}
	if len(oids) == 0 {
		return nil
	}
	contents := h.git.Contents(ctx, session, oids)
	found := map[ahp.URI][]byte{}
	for uri, oid := range named {
		if data, ok := contents[oid]; ok {
			found[uri] = data
		}
	}
	return found
}

// CheckVersion returns an error for a file version that a caller may not read, without reading it.
func (h *Host) CheckVersion(ctx context.Context, c core.Caller, uri ahp.URI) error {
	_, _, err := h.blobAt(ctx, c, uri)
	return err
}

// blobAt parses an ahp-blob: URI, and returns an error if the caller may not read it.
func (h *Host) blobAt(ctx context.Context, c core.Caller, uri ahp.URI) (session ahp.URI, b version.Ref, err error) {
	b, ok := version.Parse(uri)
	if !ok {
		return "", b, core.BadParams("uri: %.200q is not a URI", uri)
	}
	session, known := h.core.SessionByShort(b.Session)
	if !known || h.git == nil || !c.Audience().Sees(core.SessionInfo(session)) {
		return "", b, core.NoChannel(uri)
	}
	if err := c.MayCall("resourceRead", core.SessionInfo(session)); err != nil {
		return "", b, err
	}
	// editors percent-encode more characters
	if c.IsGuest() && !h.refers(ctx, c, session, uri, b.Path) && !h.refers(ctx, c, session, b.URI(), b.Path) {
		return "", b, core.NoChannel(uri)
	}
	return session, b, nil
}
