package e2e

import (
	"os"
	"testing"
)

func TestMain(m *testing.M) {
	if mode := os.Getenv("TOOL_AGENT"); mode != "" {
		runToolAgent(mode)
		return
	}
	os.Exit(Main(m))
}
