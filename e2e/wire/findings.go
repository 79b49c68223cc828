package wire

import (
	"errors"
	"fmt"
	"os"
	"sync"

	"github.com/ahphub/ahphub/e2e/spec"
)

var (
	findingsMu sync.Mutex
	findings   []string
	absent     bool
)

// Note records an error from Received for Main.
func Note(err error) {
	findingsMu.Lock()
	defer findingsMu.Unlock()
	switch {
	case errors.Is(err, spec.ErrAbsent):
		absent = true
	case err != nil && len(findings) < 20:
		findings = append(findings, err.Error())
	}
}

// Main runs the tests of a package and fails if the host sent anything that the client's version
// does not allow, in any test.
func Main(m interface{ Run() int }) int {
	code := m.Run()
	findingsMu.Lock()
	defer findingsMu.Unlock()
	if absent {
		fmt.Fprintln(os.Stderr, spec.ErrAbsent)
	}
	for _, f := range findings {
		fmt.Fprintln(os.Stderr, "against the protocol:", f)
	}
	if len(findings) > 0 && code == 0 {
		return 1
	}
	return code
}
