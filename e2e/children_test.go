package e2e

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"strings"
	"testing"
)

// TestEveryChildIsGivenAnEnvironment checks in the sources that a function that creates an exec.Cmd
// sets its Env. Otherwise the child would inherit ahphub's whole environment, including secrets.
func TestEveryChildIsGivenAnEnvironment(t *testing.T) {
	children := 0
	for _, root := range []string{"../cmd", "../web", "../handlers", "../hub"} {
		err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
			if err == nil && d.IsDir() && strings.HasSuffix(path, "test") { // shared by tests, such as boxtest
				return filepath.SkipDir
			}
			if err != nil || d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
				return err
			}
			files := token.NewFileSet()
			file, err := parser.ParseFile(files, path, nil, parser.SkipObjectResolution)
			if err != nil {
				return err
			}
			for _, decl := range file.Decls {
				made, set := childrenOf(decl)
				children += made
				if made > set {
					t.Errorf("%s: a child is made without setting its Env", files.Position(decl.Pos()))
				}
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if children < 5 {
		t.Errorf("only %d children were found: this test looks in the wrong place", children)
	}
}

// childrenOf counts the commands that a declaration creates and the environments it sets.
func childrenOf(decl ast.Decl) (made, set int) {
	ast.Inspect(decl, func(n ast.Node) bool {
		selector, ok := n.(*ast.SelectorExpr)
		if !ok {
			return true
		}
		of, isName := selector.X.(*ast.Ident)
		switch {
		case isName && of.Name == "exec" && (selector.Sel.Name == "Command" || selector.Sel.Name == "CommandContext"):
			made++
		case isName && of.Name == "os" && selector.Sel.Name == "StartProcess":
			made++
		case selector.Sel.Name == "Env":
			set++
		}
		return true
	})
	return made, set
}
