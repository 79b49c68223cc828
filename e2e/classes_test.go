package e2e

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// rowClasses are the class names with one or two letters. They are for rows of diffs, of which a
// page has thousands.
var rowClasses = map[string]string{
	"r": "a row", "h": "the bar of a hunk", "a": "an added row", "d": "a deleted row", "m": "a moved row",
	"e": "an empty cell of a split row", "l": "the left cell of a split row", "ln": "the link of a row",
	"mv": "where a moved row came from, or went", "k": "a keyword", "s": "a string", "c": "a comment",
	"n": "a number", "f": "a function", "t": "a type", "p": "punctuation",
}

// TestClassNamesAreWords reads the class names in style sheets, templates, scripts and Go that writes HTML.
func TestClassNamesAreWords(t *testing.T) {
	names, used := 0, map[string]bool{}
	for _, place := range []string{"static/css", "static/js", "templ", "handlers"} {
		err := filepath.WalkDir(filepath.Join("..", place), func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() || strings.HasSuffix(path, "_templ.go") || strings.HasSuffix(path, "_test.go") {
				return err
			}
			source, err := os.ReadFile(path)
			for _, name := range classNames(filepath.Ext(path), string(source)) {
				names++
				used[name] = true
				if len(name) <= 2 && rowClasses[name] == "" {
					t.Errorf("%s: the class %q is not of a diff's rows: use a word", strings.TrimPrefix(path, "../"), name)
				}
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if names < 2500 {
		t.Errorf("only %d class names were read", names)
	}
	for name, what := range rowClasses {
		if !used[name] {
			t.Errorf("%q, %s, is in rowClasses, and no rule has it: remove it", name, what)
		}
	}
}

var (
	classAttribute  = regexp.MustCompile("class=\\\\?\"([^\"`\\n]*)")
	classExpression = regexp.MustCompile(`class=\{([^}]*)\}`)
	classField      = regexp.MustCompile(`Class: +"([^"]*)"`)
	classChange     = regexp.MustCompile(`(?:(?:contains|classList\??\.\w+|ByClassName)\(|className = )['"]([^'"]*)`)
	classSelector   = regexp.MustCompile(`(?:^|[^\w.)]|\b[a-z]+[0-9]?|\])\.([a-zA-Z][\w-]*)`)
	quoted          = regexp.MustCompile(`"([^"]*)"`)
	scriptValue     = regexp.MustCompile(`\$\{[^}]*\}`)
	cssComment      = regexp.MustCompile(`(?s)/\*.*?\*/`)
	cssSelector     = regexp.MustCompile(`([^{};]*)\{`)
)

// classNames returns the class names that a file writes or selects.
func classNames(ext, source string) (names []string) {
	attributes := func(text string, patterns ...*regexp.Regexp) {
		for _, pattern := range patterns {
			for _, m := range pattern.FindAllStringSubmatch(text, -1) {
				names = append(names, strings.Fields(m[1])...)
			}
		}
	}
	selectors := func(text string) {
		for _, m := range classSelector.FindAllStringSubmatch(text, -1) {
			names = append(names, m[1])
		}
	}
	switch ext {
	case ".css":
		for _, m := range cssSelector.FindAllStringSubmatch(cssComment.ReplaceAllString(source, ""), -1) {
			selectors(m[1])
		}
	case ".js":
		attributes(source, classAttribute, classChange)
		for _, s := range scriptString.FindAllString(source, -1) {
			if !strings.HasPrefix(s, "/") && !strings.HasPrefix(s, "'./") { // neither a comment nor a module path
				selectors(scriptValue.ReplaceAllString(s[1:len(s)-1], ""))
			}
		}
	case ".templ":
		attributes(source, classAttribute)
		for _, m := range classExpression.FindAllStringSubmatch(source, -1) {
			attributes(m[1], quoted)
		}
	case ".go":
		attributes(source, classAttribute, classField)
	}
	return names
}
