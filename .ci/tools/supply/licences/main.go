// Command licences lists the licence of every library that is in the program, for Linux and macOS, and of every
// one that its pages load. It fails on a licence that is not allowed, and on one that it cannot tell.
//
//	licences -root DIR            write DIR/docs/licences.md
//	licences -root DIR -check     fail when it is not current
//	licences -root DIR -texts F   write the licences themselves, as they have to go along with the program
//	licences -root DIR -boms F,G  fail when these bills of materials together leave a library of the program out
package main

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"log"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// allowed are licences that ask for no more than to be named and handed on. MPL-2.0 asks for changes to its own files,
// of which there are none; OFL-1.1 is that of a font which a library has beside its code.
var allowed = []string{"MIT", "BSD-2-Clause", "BSD-3-Clause", "Apache-2.0", "ISC", "0BSD", "Unlicense", "CC0-1.0",
	"Zlib", "MPL-2.0", "OFL-1.1", "BlueOak-1.0.0"}

// chosen is the licence of libraries whose text offers one or the other.
var chosen = map[string]string{"kernel.org/pub/linux/libs/security/libcap/psx": "BSD-3-Clause"} // or GPL-2.0

// part is one library.
type part struct {
	Name, Version string
	Licences      []string
	Files         []string // licences and notices
}

func main() {
	log.SetFlags(0)
	root := flag.String("root", ".", "directory of the repository")
	check := flag.Bool("check", false, "fail when docs/licences.md is not current")
	texts := flag.String("texts", "", "file to write the licences themselves to")
	boms := flag.String("boms", "", "bills of materials to compare, as CycloneDX")
	flag.Parse()
	if err := run(*root, *check, *texts, *boms); err != nil {
		log.Fatal(err)
	}
}

func run(root string, check bool, texts, boms string) error {
	modules, err := goModules(root)
	if err != nil {
		return err
	}
	pages, err := npmPackages(root)
	if err != nil {
		return err
	}
	if err := forbidden(slices.Concat(modules, pages)); err != nil {
		return err
	}
	if boms != "" {
		if err := complete(strings.Split(boms, ","), modules); err != nil {
			return err
		}
	}
	if texts != "" {
		return writeTexts(texts, slices.Concat(modules, pages))
	}
	page := document(modules, pages)
	path := filepath.Join(root, "docs", "licences.md")
	if !check {
		return os.WriteFile(path, page, 0o644)
	}
	if have, err := os.ReadFile(path); err != nil || !bytes.Equal(have, page) {
		return errors.New("docs/licences.md is not current: make licences writes it, commit it")
	}
	return nil
}

// forbidden names every part whose licence is not allowed, or not known.
func forbidden(parts []part) error {
	var wrong []error
	for _, p := range parts {
		if len(p.Licences) == 0 {
			wrong = append(wrong, fmt.Errorf("%s %s: no licence was recognised in %v", p.Name, p.Version, p.Files))
		}
		for _, l := range p.Licences {
			if !slices.Contains(allowed, l) {
				wrong = append(wrong, fmt.Errorf(
					"%s %s is under %s, which is not allowed here: use another library, or decide about it in "+
						".ci/tools/supply", p.Name, p.Version, l))
			}
		}
	}
	return errors.Join(wrong...)
}

func document(modules, pages []part) []byte {
	var b bytes.Buffer
	b.WriteString("# Licences\n\nWhat is in the program besides its own code ([LICENSE](LICENSE)), made by `make " +
		"licences` and checked by `make check`.\n" +
		"The texts go along with a release: `make sbom` writes them and a CycloneDX bill of materials into " +
		"`dist`.\nAllowed: " +
		strings.Join(allowed, ", ") + ".\n")
	table := func(title string, parts []part) {
		fmt.Fprintf(&b, "\n## %s\n\n| library | version | licence |\n| --- | --- | --- |\n", title)
		for _, p := range parts {
			fmt.Fprintf(&b, "| %s | %s | %s |\n", p.Name, p.Version, strings.Join(p.Licences, ", "))
		}
	}
	table("In the binary", modules)
	table("Loaded by pages", pages)
	return b.Bytes()
}

func writeTexts(path string, parts []part) error {
	var b bytes.Buffer
	for _, p := range parts {
		for _, file := range p.Files {
			text, err := os.ReadFile(file)
			if err != nil {
				return err
			}
			fmt.Fprintf(&b, "==== %s %s: %s\n\n%s\n\n", p.Name, p.Version, filepath.Base(file), bytes.TrimSpace(text))
		}
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	return os.WriteFile(path, b.Bytes(), 0o644)
}
