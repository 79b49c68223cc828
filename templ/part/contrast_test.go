package part

import (
	"math"
	"os"
	"regexp"
	"strconv"
	"testing"
)

// Text on tinted rows has a contrast of 4.5:1, in both themes and with the colorblind-safe tints:
// code is read there, too.
func TestCodeIsLegibleOnEveryTint(t *testing.T) {
	css, err := os.ReadFile("../../static/css/tokens.css")
	if err != nil {
		t.Fatal(err)
	}
	pair := regexp.MustCompile(`--([a-z0-9-]+): light-dark\((#[0-9a-f]{6}), (#[0-9a-f]{6})\)`)
	grounds, texts := map[string][2]string{}, map[string][2]string{}
	for i, m := range pair.FindAllStringSubmatch(string(css), -1) {
		switch m[1] {
		case "bg", "add-bg", "add-word", "del-bg", "del-word", "rv-move", "rv-gone", "rv-pick":
			grounds[m[1]+strconv.Itoa(i)] = [2]string{m[2], m[3]} // the safe tints have the same names further down
		case "text", "code-k", "code-s", "code-c", "code-n", "code-t", "code-f", "code-p":
			texts[m[1]] = [2]string{m[2], m[3]}
		}
	}
	if len(grounds) != 12 || len(texts) != 8 {
		t.Fatalf("%d grounds and %d texts in the tokens", len(grounds), len(texts))
	}
	for ground, g := range grounds {
		for text, c := range texts {
			for theme := range 2 {
				if r := ratio(g[theme], c[theme]); r < 4.5 {
					t.Errorf("%s on %s, theme %d: %.2f", text, ground, theme, r)
				}
			}
		}
	}
}

func ratio(a, b string) float64 {
	x, y := luminance(a), luminance(b)
	return (max(x, y) + 0.05) / (min(x, y) + 0.05)
}

func luminance(hex string) float64 {
	v, _ := strconv.ParseUint(hex[1:], 16, 32)
	channel := func(shift uint) float64 {
		c := float64(v>>shift&0xff) / 255
		if c <= 0.03928 {
			return c / 12.92
		}
		return math.Pow((c+0.055)/1.055, 2.4)
	}
	return 0.2126*channel(16) + 0.7152*channel(8) + 0.0722*channel(0)
}
