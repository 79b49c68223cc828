//go:build unix

package host

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/ahphub/ahphub/hub/ahp"
)

// If a pipe replaces a file that git reads, the changes report an error that names it. Once it is
// gone, they show again.
func TestSpecialFileIsNamedToReaders(t *testing.T) {
	c := newChanging(t)
	c.write("a.txt", "one\n2\n")
	uri := c.follow("uncommitted", "")
	c.watched()
	pipe := filepath.Join(c.dir, ".gitattributes")
	c.must(syscall.Mkfifo(pipe, 0o600))
	c.until("the pipe is named", func() bool {
		s := c.changes(uri)
		return s.Status == ahp.ChangesetStatusError && s.Error != nil &&
			strings.Contains(s.Error.Message, pipe+" is a named pipe") && strings.Contains(s.Error.Message, "remove it")
	})
	_, err := c.host.Changes.Patch(t.Context(), c.owner, uri)
	if err == nil || !strings.Contains(err.Error(), "named pipe") {
		t.Errorf("a patch: %v", err)
	}
	c.must(os.Remove(pipe))
	c.shows(uri, "M a.txt +1 −1")
}
