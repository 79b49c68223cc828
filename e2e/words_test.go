package e2e

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/net/html"
)

// bannedWords are words and phrases banned from texts for people, each with its replacement.
var bannedWords = []struct {
	pattern *regexp.Regexp
	instead string
}{
	{regexp.MustCompile(`(?i)\b(some|every|no|any)body\b`), "someone, everyone, no one, or the person's role"},
	{regexp.MustCompile(`(?i)\bwh(o|om|at)ever\b`), "anyone who, anything that"},
	{regexp.MustCompile(`(?i)\bbesides?\b`), "next to, in addition to"},
	{regexp.MustCompile(`(?i)\b(stands?|stood)\b`), "is, stays, points to"},
	{regexp.MustCompile(`(?i)\blies\b`), "is, is stored"},
	{regexp.MustCompile(`(?i)\b(goes|went on|go on|goes on)\b`), "continues, is removed"},
	{regexp.MustCompile(`(?i)\b(is|are|was|were|be|been) told\b`), "is notified, gets"},
	{regexp.MustCompile(`(?i)\bby (itself|themselves)\b`), "automatically"},
	{regexp.MustCompile(`(?i)\bof (its|their|your|our|one's) own\b`), "its own, separate"},
	{regexp.MustCompile(`(?i)\banew\b`), "again"},
	{regexp.MustCompile(`(?i)\b(the|this) hosts?\b`), "ahphub, this server"},
	{regexp.MustCompile(`(?i)\bmade\b`), "created"},
	{regexp.MustCompile(`(?i)\bmake (a|an|it|one) (new )?(link|token|passkey|invit|webhook|account|session|thread|worktree|branch)`), "create"},
	{regexp.MustCompile(`(?i)\bwork trees?\b`), "worktree"},
	{regexp.MustCompile(`(?i)\bwhite space\b`), "whitespace"},
	{regexp.MustCompile(`(?i)\be-mails?\b`), "email"},
	{regexp.MustCompile(`^What (?:[^?]*)$`), "a noun: Events, Details"},
	{regexp.MustCompile(`[0-9][  ][0-9]{3}\b|\b[0-9]{1,3} [0-9]{3}\b`), "5,000"},
}

// allowedTexts are correct texts with such a word, with the reason.
var allowedTexts = map[string]string{}

// textPlaces are the directories whose texts reach people, on pages or as errors of the protocol.
var textPlaces = []string{"cmd/ahphub", "handlers", "hub", "static/js", "templ", "web"}

// TestTextsAvoidBannedWords reads every text of pages, scripts and errors.
func TestTextsAvoidBannedWords(t *testing.T) {
	read, used := 0, map[string]bool{}
	for _, place := range textPlaces {
		err := filepath.WalkDir(filepath.Join("..", place), func(path string, d fs.DirEntry, err error) error {
			if err == nil && path == filepath.Join("..", "hub", "ahp") {
				// texts for implementers use the protocol's terms, where the server is "the host"
				return filepath.SkipDir
			}
			if err != nil || d.IsDir() {
				return err
			}
			for _, text := range textsOf(t, path) {
				read++
				checkText(t, path, text, used)
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if read < 4000 {
		t.Errorf("only %d texts were read", read)
	}
	for text := range allowedTexts {
		if !used[text] {
			t.Errorf("%q is allowed, and there is no such text: remove it from allowedTexts", text)
		}
	}
}

func checkText(t *testing.T, path, text string, used map[string]bool) {
	for _, banned := range bannedWords {
		found := banned.pattern.FindString(text)
		if found == "" {
			continue
		}
		if allowedTexts[text] != "" {
			used[text] = true
			return
		}
		t.Errorf("%s: %q has %q. Write: %s", strings.TrimPrefix(strings.Replace(path, "_templ.go", ".templ", 1), "../"),
			text, found, banned.instead)
	}
}

// textsOf returns the texts for people in a file; generated Go files stand for their templates.
func textsOf(t *testing.T, path string) []string {
	switch {
	case strings.HasSuffix(path, "_test.go"):
		return nil
	case strings.HasSuffix(path, ".js"):
		return scriptTexts(t, path)
	case strings.HasSuffix(path, ".go"):
		return goTexts(t, path)
	}
	return nil
}

// goTexts returns the string literals of a Go file that read as text, and the text of the HTML it
// writes.
func goTexts(t *testing.T, path string) (texts []string) {
	file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	var markup strings.Builder
	ast.Inspect(file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.ImportSpec:
			return false
		case *ast.Field:
			texts = append(texts, flagHelp(n)...)
			n.Tag = nil
		case *ast.CallExpr:
			if lit := writtenHTML(n); lit != "" {
				markup.WriteString(lit)
				markup.WriteString("\x00") // a value of the template
				return false
			}
		case *ast.BasicLit:
			if n.Kind == token.STRING {
				if s, err := strconv.Unquote(n.Value); err == nil && isText(s) {
					texts = append(texts, s)
				}
			}
		}
		return true
	})
	return append(texts, htmlTexts(markup.String())...)
}

// flagHelp returns the help of a flag from its struct tag.
func flagHelp(field *ast.Field) []string {
	if field.Tag == nil {
		return nil
	}
	tag, err := strconv.Unquote(field.Tag.Value)
	if err != nil {
		return nil
	}
	return []string{reflect.StructTag(tag).Get("help")}
}

// writtenHTML returns the HTML that a call in a generated template writes.
func writtenHTML(call *ast.CallExpr) string {
	fun, ok := call.Fun.(*ast.SelectorExpr)
	if !ok || fun.Sel.Name != "WriteString" || len(call.Args) != 3 {
		return ""
	}
	lit, ok := call.Args[2].(*ast.BasicLit)
	if !ok {
		return ""
	}
	s, err := strconv.Unquote(lit.Value)
	if err != nil {
		return ""
	}
	return s
}

// spokenAttributes are the attributes whose values people read or hear.
var spokenAttributes = []string{"alt", "aria-label", "label", "placeholder", "title", "data-go-on"}

// htmlTexts returns the text nodes of HTML, and the attributes that people read.
func htmlTexts(markup string) (texts []string) {
	z := html.NewTokenizer(strings.NewReader(markup))
	for {
		switch z.Next() {
		case html.ErrorToken:
			return texts
		case html.TextToken:
			for _, s := range strings.Split(string(z.Text()), "\x00") {
				if s = strings.TrimSpace(s); s != "" {
					texts = append(texts, s)
				}
			}
		case html.StartTagToken, html.SelfClosingTagToken:
			for _, a := range z.Token().Attr {
				if slices.Contains(spokenAttributes, a.Key) {
					texts = append(texts, a.Val)
				}
			}
		}
	}
}

var scriptString = regexp.MustCompile(`//[^\n]*|/\*(?s:.*?)\*/|'(?:[^'\\\n]|\\.)*'|"(?:[^"\\\n]|\\.)*"|` +
	"`(?:[^`\\\\]|\\\\.)*`")

// scriptTexts returns the strings of a script that read as text.
func scriptTexts(t *testing.T, path string) (texts []string) {
	source, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range scriptString.FindAllString(string(source), -1) {
		if s[0] != '/' && isText(s[1:len(s)-1]) {
			texts = append(texts, htmlTexts(s[1:len(s)-1])...)
		}
	}
	return texts
}

var statement = regexp.MustCompile(`^\s*(SELECT|INSERT|UPDATE|DELETE|CREATE|ALTER|PRAGMA|VACUUM|WITH|DROP|HTTP/1\.1) `)

// isText reports whether a literal reads as text: several words, or a label-like beginning.
func isText(s string) bool {
	s = strings.TrimSpace(s)
	if s == "" || statement.MatchString(s) {
		return false
	}
	return strings.Contains(s, " ") || s[0] >= 'A' && s[0] <= 'Z'
}
