package diff

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
)

// edited returns a text of n lines, and a copy with every so many lines changed.
func edited(n, every int) (old, new []byte) {
	r := rand.New(rand.NewPCG(1, 2))
	var a, b strings.Builder
	for i := range n {
		line := fmt.Sprintf("\tvalue%d := compute(%d, \"some text\", options) // step %d\n", i, r.IntN(1e6), i)
		a.WriteString(line)
		if i%every == 0 {
			line = strings.Replace(line, "compute", "recompute", 1)
		}
		b.WriteString(line)
	}
	return []byte(a.String()), []byte(b.String())
}

func benchmark(b *testing.B, n, every int, o Options) {
	old, new := edited(n, every)
	b.SetBytes(int64(len(old) + len(new)))
	for b.Loop() {
		if f := Compute(old, new, o); f.Additions != (n+every-1)/every {
			b.Fatalf("lost changes: %d", f.Additions)
		}
	}
}

func BenchmarkMegabytes(b *testing.B)        { benchmark(b, 16_000, 10, Options{}) } // two sides of 1 MB
func BenchmarkMegabytesAllNew(b *testing.B)  { benchmark(b, 16_000, 1, Options{}) }
func BenchmarkTenThousandLines(b *testing.B) { benchmark(b, 10_000, 5, Options{}) }
func BenchmarkClassesOfTenThousandLines(b *testing.B) {
	benchmark(b, 10_000-3_000, 200, Options{Path: "a.go"})
}
