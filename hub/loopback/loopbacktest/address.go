// Package loopbacktest reserves addresses for programs that tests start.
package loopbacktest

import (
	"testing"

	"github.com/ahphub/ahphub/hub/loopback"
)

// Address reserves an address, such as "127.0.0.1:40213", for a program of the test, until the test
// ends.
func Address(t testing.TB) string {
	t.Helper()
	address, release, err := loopback.Reserve()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(release)
	return address
}
