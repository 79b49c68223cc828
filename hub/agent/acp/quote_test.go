package acp

import (
	"strings"
	"testing"
)

// A crash quotes the lines that explain it, not the frames of a stack.
func TestCrashQuotesReadableLines(t *testing.T) {
	for name, test := range map[string]struct{ output, want string }{
		"nothing":   {"", ""},
		"a message": {"no licence was found\n", "no licence was found"},
		"go":        {"panic: out of luck\n\ngoroutine 1 [running]:\nmain.main()\n\t/src/main.go:4 +0x25\nexit status 2\n", "panic: out of luck"},
		"node": {"file:///opt/agent/cli.js:12\n    throw new Error('no');\n          ^\n\nError: ENOENT: no such file, open 'a'\n" +
			"    at Object.<anonymous> (/opt/agent/cli.js:12:11)\n    at node:internal/main/run_main_module:36:49 {\n" +
			"}\n\nNode.js v22.1.0\n", "Error: ENOENT: no such file, open 'a'"},
		"python": {"Traceback (most recent call last):\n  File \"a.py\", line 3, in <module>\n    raise ValueError(\"no model\")\n" +
			"ValueError: no model\n", "ValueError: no model"},
		"rust": {"thread 'main' panicked at src/main.rs:3:5:\nno configuration\nnote: run with `RUST_BACKTRACE=1` for more\n",
			"thread 'main' panicked at src/main.rs:3:5: / no configuration"},
		"colours":   {"\x1b[31mError: quota reached\x1b[0m\n", "Error: quota reached"},
		"json":      {`{"level":"info","msg":"start"}` + "\n" + `{"level":"error","msg":"port in use"}` + "\n", "port in use"},
		"no reason": {"one\ntwo\nthree\nfour\n", "two / three / four"},
	} {
		if got := strings.Join(readableLines(test.output), " / "); got != test.want {
			t.Errorf("%s: quoted %q, want %q", name, got, test.want)
		}
	}
}
