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
	if os.Getenv("ECHO_SERVER") != "" {
		runEchoServer()
		return
	}
	if dir := os.Getenv("ASKING_AGENT"); dir != "" {
		runAskingAgent(dir)
		return
	}
	if os.Getenv("CHAT_AGENT") != "" {
		runChatAgent()
		return
	}
	os.Exit(Main(m))
}
