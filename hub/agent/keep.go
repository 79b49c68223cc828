package agent

import (
	"net/url"

	"github.com/ahphub/ahphub/hub/ahp"
)

// Keeper is a Host that keeps what an edit would make of a file, so that people see the whole difference before they
// decide, and afterwards what was decided about.
type Keeper interface {
	// Keep returns how content is referred to. It fails where a session has kept as much as it may.
	Keep(path string, content []byte) (ahp.ContentRef, error)
}

// EditOf is an edit with both versions kept by the host. nil stands for a side that is not there; where the host keeps
// nothing, the edit names its file alone.
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
