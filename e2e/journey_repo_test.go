package e2e

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/ahphub/ahphub/e2e/fixture"
)

// greetFiles is a small module in a language whose tests need only Go.
var greetFiles = map[string]string{
	"go.mod": "module example.com/greet\n\ngo 1.22\n",
	"greet.go": `// Package greet says hello.
package greet

import "strings"

// Hello greets somebody by name; without one it greets everybody.
func Hello(name string) string {
	name = strings.TrimSpace(name)
	if name == "" {
		name = "everybody"
	}
	return "Hello, " + name
}

// Bye says goodbye.
func Bye(name string) string {
	return "Goodbye, " + strings.TrimSpace(name)
}
`,
	"greet_test.go": `package greet

import "testing"

func TestHello(t *testing.T) {
	for name, want := range map[string]string{
		"Ana": "Hello, Ana",
		" ":   "Hello, everybody",
	} {
		if got := Hello(name); got != want {
			t.Errorf("Hello(%q) = %q, want %q", name, got, want)
		}
	}
}
`,
	"README.md": "# greet\n\nSays hello, politely.\n\n- `Hello(name)` greets\n- `Bye(name)` takes leave\n",
}

// greetEdit changes four files, then asks on its terminal before it runs the tests.
const greetEdit = `sed -i.old 's/Hello(name string)/Hello(lang, name string)/; s/"Hello, " + name/Word(lang) + ", " + name + "!"/' greet.go
sed -i.old 's/Hello(name)/Hello("en", name)/; s/"Hello, \(.*\)",/"Hello, \1!",/' greet_test.go
sed -i.old 's/Hello(name)/Hello(lang, name)/' README.md
rm *.old
cat > word.go <<'END'
package greet

import "cmp"

// Word greets in a language, in English where it is not known.
func Word(lang string) string {
	words := map[string]string{"de": "Hallo", "fr": "Bonjour"}
	return cmp.Or(words[lang], "Hello")
}
END
printf 'Run the tests? '; read -r answer
go test -v ./...`

// greetRepository creates the repository in a directory with a readable name.
func greetRepository(t *testing.T) string {
	t.Helper()
	home, err := os.MkdirTemp("", "ana-*") // readable in screenshots
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(home) })
	dir := filepath.Join(home, "greet")
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	var files []fixture.File
	for path, text := range greetFiles {
		files = append(files, fixture.File{Path: path, Before: []byte(text), After: []byte(text)})
	}
	if err := fixture.Repository(context.Background(), dir, files); err != nil {
		t.Fatal(err)
	}
	return dir
}
