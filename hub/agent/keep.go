package agent

import (
	"net/url"

	"github.com/ahphub/ahphub/hub/ahp"
)

// Keeper is a Host that keeps both versions of an edit, so that people see the whole difference
// before their decision and afterwards.
type Keeper interface {
	// Keep stores content and returns its reference. It fails at the session's limit.
	Keep(path string, content []byte) (ahp.ContentRef, error)
}

// EditOf returns an edit with both versions kept by the host. nil is a missing side; if the host
// keeps nothing, the edit names the file only.
func EditOf(h Host, path string, before, after []byte) ahp.FileEdit {
	return ahp.FileEdit{Before: side(h, path, before), After: side(h, path, after)}
}

func side(h Host, path string, content []byte) *ahp.FileEditSide {
	if content == nil {
		return nil
	}
	s := &ahp.FileEditSide{URI: (&url.URL{Scheme: "file", Path: path}).String()}
	s.Content.URI = s.URI
	if k, ok := h.(Keeper); ok {
		if ref, err := k.Keep(path, content); err == nil {
			s.Content = ref
		}
	}
	return s
}
