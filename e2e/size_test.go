package e2e

import (
	"debug/elf"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

const (
	mostMethods = 150 // of a type
	mostFiles   = 60  // of a package; generated files and tests aside
)

// moreFiles lists the packages with a higher limit.
var moreFiles = map[string]int{"hub/ahp": 80} // small files, one for each channel's noun

// TestTypesAndPackagesStaySmall limits the size of packages and types, to keep them readable.
func TestTypesAndPackagesStaySmall(t *testing.T) {
	files, methods := map[string]int{}, map[string]int{}
	err := filepath.WalkDir("..", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() && strings.HasPrefix(d.Name(), ".") && d.Name() != ".." {
			if err == nil {
				err = filepath.SkipDir
			}
			return err
		}
		if d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") ||
			strings.HasSuffix(path, "_templ.go") {
			return nil
		}
		dir, err := filepath.Rel("..", filepath.Dir(path))
		if err != nil {
			return err
		}
		f, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		files[dir]++
		for _, d := range f.Decls {
			if fn, ok := d.(*ast.FuncDecl); ok && fn.Recv != nil {
				methods[dir+"."+receiverName(fn.Recv.List[0].Type)]++
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(files) < 30 || len(methods) < 100 {
		t.Fatalf("only %d packages and %d types were read", len(files), len(methods))
	}
	for dir, n := range files {
		if most := max(mostFiles, moreFiles[dir]); n > most {
			t.Errorf("%s has %d files, and at most %d are allowed: split it", dir, n, most)
		}
	}
	for name, n := range methods {
		if n > mostMethods {
			t.Errorf("%s has %d methods, and at most %d are allowed: give some of them a type of their own", name, n,
				mostMethods)
		}
	}
}

// receiverName returns the name of a receiver's type.
func receiverName(x ast.Expr) string {
	switch x := x.(type) {
	case *ast.StarExpr:
		return receiverName(x.X)
	case *ast.IndexExpr:
		return receiverName(x.X)
	case *ast.IndexListExpr:
		return receiverName(x.X)
	case *ast.Ident:
		return x.Name
	}
	return "?"
}

// TestProgramHasNoUncalledMethods fails if any code calls methods by names that are only known at
// run time, like text/template and many command line libraries. The linker would then keep every
// exported method of every used type, about a tenth of the program.
func TestProgramHasNoUncalledMethods(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("reads an ELF file")
	}
	path, err := binary()
	if err != nil {
		t.Fatal(err)
	}
	f, err := elf.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	symbols, err := f.Symbols()
	if err != nil {
		t.Fatal(err)
	}
	called := false
	for _, s := range symbols {
		called = called || s.Name == "net/http.(*Client).do"
		if s.Name == "net/http.(*Client).PostForm" {
			t.Error("the program has a method that nothing calls: find what uses reflect.Value.Method with " +
				"go build -ldflags=-dumpdep ./cmd/ahphub 2>&1 | grep ReflectMethod")
		}
	}
	if !called {
		t.Error("the program's symbols are not those that this test knows")
	}
}
