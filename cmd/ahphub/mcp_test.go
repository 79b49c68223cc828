package main

import (
	"io"
	"net"
	"net/url"
	"strings"
	"testing"
)

func TestMcpByHand(t *testing.T) {
	t.Setenv("AHPHUB_MCP_URL", "")
	t.Setenv("AHPHUB_MCP_TOKEN", "")
	err := command(t.Context(), []string{"mcp"}, io.Discard, io.Discard)
	if err == nil || !strings.Contains(err.Error(), "does not work on its own") {
		t.Errorf("it says %v", err)
	}
}

// Agents reach the host on this machine, whatever its public address.
func TestAgentURL(t *testing.T) {
	public := &url.URL{Scheme: "https", Host: "hub.example.com"}
	for listen, want := range map[string]string{"127.0.0.1:0": "http://127.0.0.1:", "0.0.0.0:0": "http://127.0.0.1:",
		":0": "http://127.0.0.1:", "[::1]:0": "http://[::1]:"} {
		l, err := net.Listen("tcp", listen)
		if err != nil {
			t.Logf("cannot listen on %s here: %v", listen, err)
			continue
		}
		if got := localURL(l); !strings.HasPrefix(got, want) {
			t.Errorf("listening on %s agents use %s", listen, got)
		}
		if at := addressesOf(l, public); at.URL != "https://hub.example.com" {
			t.Errorf("teammates use %s", at.URL)
		}
		l.Close()
	}
}
