package mcp

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// BenchmarkComments measures an agent's calls over HTTP, in a repository of some thousand files.
func BenchmarkComments(b *testing.B) {
	for _, files := range []int{10, 5000} {
		w := newWorld(b, Limits{})
		for i := range files {
			dir := filepath.Join(w.dir, fmt.Sprint("d", i%50))
			w.must(os.MkdirAll(dir, 0o700))
			write(b, filepath.Join(dir, fmt.Sprint(i)), "one\ntwo\n")
		}
		c := w.connect(w.open(one), nil)
		for name, call := range map[string]*mcp.CallToolParams{
			"list": {Name: "list_comments"},
			"add":  {Name: "add_comment", Arguments: map[string]any{"file": "a.txt", "line": 3, "text": "Look."}},
		} {
			b.Run(fmt.Sprint(name, "/", files), func(b *testing.B) {
				for range b.N {
					if res, err := c.CallTool(b.Context(), call); err != nil || res.IsError {
						b.Fatal(err, res)
					}
				}
			})
		}
	}
}
