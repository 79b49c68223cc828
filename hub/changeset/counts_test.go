package changeset

import (
	"fmt"
	"testing"
)

// Counts of lines are remembered, and equal git's for all files.
func TestCountsAreRemembered(t *testing.T) {
	p := newRepo(t)
	for i := range 20 {
		p.write(fmt.Sprintf("f%02d.txt", i), "1\n2\n")
	}
	p.commit()
	before := p.checkpoint()
	var want []string
	for i := range 20 {
		p.write(fmt.Sprintf("f%02d.txt", i), "1\n2\n3\n")
		want = append(want, fmt.Sprintf("M f%02d.txt +1 −0", i))
	}
	p.want(summary(p.compare(before, p.checkpoint())), want...)
	p.write("f07.txt", "4\n")
	want[7] = "M f07.txt +1 −2"
	p.want(summary(p.compare(before, p.look("f07.txt"))), want...)
	p.rename("f08.txt", "g08.txt")
	want = append(append(append([]string{}, want[:8]...), want[9:]...), "R f08.txt → g08.txt +1 −0")
	p.want(summary(p.compare(before, p.look("f08.txt", "g08.txt"))), want...)
	p.write(".gitattributes", "f07.txt -diff\n")
	want = append([]string{"A .gitattributes +1 −0"}, want...)
	want[8] = "M f07.txt binary"
	files := p.compare(before, p.look(".gitattributes"))
	p.want(summary(files), want...)
	if f := files[8]; f.OldSize != 4 || f.NewSize != 2 {
		t.Errorf("sizes are %d and %d", f.OldSize, f.NewSize)
	}
}
