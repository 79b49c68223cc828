//go:build linux

package box

import (
	"flag"
	"os"
	"testing"
)

// atOnce is the number of parallel tests: they wait for containers and namespaces, and use little processor time.
const atOnce = "6"

// TestMain lets the test's own program run in boxes.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == canaryCommand {
		runCanary()
		os.Exit(0)
	}
	flag.Parse()
	chosen := false
	flag.Visit(func(f *flag.Flag) { chosen = chosen || f.Name == "test.parallel" })
	if !chosen {
		if err := flag.Set("test.parallel", atOnce); err != nil {
			panic(err)
		}
	}
	os.Exit(m.Run())
}
