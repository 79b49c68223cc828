// Package loopbacktest reserves addresses for programs that tests start.
package loopbacktest

import (
	"testing"

	"github.com/ahphub/ahphub/hub/loopback"
)

// Address returns an address, such as "127.0.0.1:40213", at which only what is told it listens, until the test ends.
func Address(t testing.TB) string {
	t.Helper()
	address, release, err := loopback.Reserve()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(release)
	return address
}
