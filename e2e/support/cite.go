package main

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// A citation is "AHP requirement 3", or a list or range of them: "AHP requirements 3, 5 and 7 to 9".
var citation = regexp.MustCompile(`AHP\s+requirements?\s+(\d+(?:(?:\s*(?:,|–|-)\s*|,?\s+(?:and|to|or)\s+)\d+)*)`)

var ranged = regexp.MustCompile(`(\d+)\s*(?:–|-|to)\s*(\d+)|(\d+)`)

// numbers returns the numbers of one citation.
func numbers(list string) (out []int) {
	for _, m := range ranged.FindAllStringSubmatch(list, -1) {
		first, last := m[1]+m[3], m[2]+m[3]
		from, _ := strconv.Atoi(first)
		to, _ := strconv.Atoi(last)
		for n := from; n <= to && n-from < 100; n++ {
			out = append(out, n)
		}
	}
	return out
}

// cites finds the tests below a directory that cite each requirement.
func cites(root string) (map[int][]string, error) {
	found := map[int][]string{}
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			// its own tests contain samples
			if path != root && strings.HasPrefix(d.Name(), ".") || d.Name() == "vendor" || d.Name() == "support" {
				return filepath.SkipDir
			}
			return nil
		}
		if !strings.HasSuffix(path, "_test.go") && !strings.HasSuffix(path, ".txtar") {
			return nil
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		rel, _ := filepath.Rel(root, path)
		return citesOf(found, filepath.ToSlash(rel), string(text))
	})
	for _, names := range found {
		slices.Sort(names)
	}
	return found, err
}

func citesOf(found map[int][]string, path, text string) error {
	where, err := places(path, text)
	if err != nil {
		return err
	}
	for _, m := range citation.FindAllStringSubmatchIndex(unwrap(text), -1) {
		name := where(m[0])
		for _, n := range numbers(text[m[2]:m[3]]) {
			if !slices.Contains(found[n], name) {
				found[n] = append(found[n], name)
			}
		}
	}
	return nil
}

// unwrap joins a citation across comment lines without moving any byte.
func unwrap(text string) string { return strings.ReplaceAll(text, "\n// ", "\n   ") }

// places returns a function that returns the test at an offset of a file, or the file outside of
// tests.
func places(path, text string) (func(int) string, error) {
	if strings.HasSuffix(path, ".txtar") {
		return func(int) string { return path }, nil
	}
	set := token.NewFileSet()
	file, err := parser.ParseFile(set, path, text, parser.ParseComments)
	if err != nil {
		return nil, err
	}
	return func(at int) string {
		for _, d := range file.Decls {
			f, ok := d.(*ast.FuncDecl)
			if !ok || f.Recv != nil || !isTest(f.Name.Name) {
				continue
			}
			from := f.Pos()
			if f.Doc != nil {
				from = f.Doc.Pos()
			}
			if set.Position(from).Offset <= at && at < set.Position(f.End()).Offset {
				return filepath.ToSlash(filepath.Dir(path)) + " " + f.Name.Name
			}
		}
		return path
	}, nil
}

func isTest(name string) bool {
	return strings.HasPrefix(name, "Test") || strings.HasPrefix(name, "Fuzz")
}
