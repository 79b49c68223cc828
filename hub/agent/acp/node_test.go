package acp

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestFailureNamesNodeThatAgentNeeds(t *testing.T) {
	dir := t.TempDir()
	write := func(name, content string) string {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(content), 0o700); err != nil {
			t.Fatal(err)
		}
		return path
	}
	write("lib/mine/package.json", `{"engines": {"node": ">=22.1"}}`)
	script := write("lib/mine/bin/mine.js", "#!/usr/bin/env node\n")
	link := filepath.Join(dir, "mine")
	if err := os.Symlink(script, link); err != nil {
		t.Fatal(err)
	}
	shell := write("shell", "#!/bin/sh\n")
	for _, test := range []struct{ name, node, command, want string }{
		{"without Node", "", link, "It needs Node >=22.1, and node was not found"},
		{"with an old Node", "v18.2.0", link, "It needs Node >=22.1, and " + filepath.Join(dir, "with an old Node", "node") + " is v18.2.0"},
		{"with that Node", "v22.0.0", link, ""},
		{"with a newer Node", "v104.0.0", link, ""},
		{"of another kind", "", shell, ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			path := filepath.Join(dir, test.name)
			if test.node != "" {
				write(test.name+"/node", "#!/bin/sh\necho "+test.node+"\n")
			}
			t.Setenv("PATH", path)
			got := Program{Command: test.command}.nodeAdvice(t.Context())
			if got == "" != (test.want == "") || !strings.Contains(got, test.want) {
				t.Errorf("the advice is %q", got)
			}
		})
	}
	if got := notStarted(Program{Name: "mine", Command: "npx"}, os.ErrNotExist).Error(); !strings.Contains(got, "install Node 20 or later") {
		t.Errorf("without npx it says %q", got)
	}
}
