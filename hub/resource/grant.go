package resource

import (
	"errors"
	"io/fs"
	"os"

	"github.com/ahphub/ahphub/hub/ahp"
)

// Open tells whether a URI is inside of the roots, links followed; nothing need be there yet.
func (f Files) Open(uri ahp.URI) error {
	s, err := f.open(uri)
	if err != nil {
		return err
	}
	defer s.root.Close()
	_, err = within(&s, (*os.Root).Stat)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return problem(uri, err)
}
