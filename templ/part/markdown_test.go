package part

import (
	"strings"
	"testing"
)

func TestMarkdownLooksAsWritten(t *testing.T) {
	for _, c := range []struct{ name, in, want string }{
		{"emphasis", "a **b** _c_ ~~d~~", "<p>a <strong>b</strong> <em>c</em> <del>d</del></p>"},
		{"heading stands below the page's own", "# Title", "<h3>Title</h3>"},
		{"list", "1. a\n2. b", "<ol>\n<li>a</li>\n<li>b</li>\n</ol>"},
		{"loose list stays one list", "1. a\n\n2. b\n", "<ol>\n<li>\n<p>a</p>\n</li>"},
		{"task list", "- [x] done", "<li>☑ done</li>"},
		{"table", "| a |\n| --- |\n| 1 |\n", "<td>1</td>"},
		{"raw HTML is text", "<b>bold</b>", "&lt;b&gt;bold&lt;/b&gt;"},
		{"link leaves no trace", "[x](https://example.org)", `rel="nofollow noreferrer`},
		{"mail", "[x](mailto:a@example.org)", `href="mailto:a@example.org"`},
		{"picture waits for a click", "![cat](https://example.org/c.png)", `data-image="remote"`},
		{"code has colours", "```go\nfunc x() {}\n```", `<span class="hl-k">func</span>`},
		{"unknown language is plain", "```nosuch\na < b\n```", "a &lt; b"},
		{"indented code", "    x := 1\n", "<pre"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := Markdown(c.in); !strings.Contains(got, c.want) {
				t.Errorf("%q became\n%s\nwithout %s", c.in, got, c.want)
			}
		})
	}
}

// hostile is text that models and files may contain; none of it may run, load or restyle the page.
var hostile = []string{
	`<script>alert(1)</script>`, `<img src=x onerror=alert(1)>`, `<svg onload=alert(1)>`,
	`<svg><script>alert(1)</script></svg>`,
	`<iframe src=javascript:alert(1)>`, `<object data=x>`, `<embed src=x>`, `<base href=https://evil.example/>`,
	`<meta http-equiv=refresh content=0>`, `<link rel=stylesheet href=https://evil.example/x.css>`,
	`<style>*{display:none}</style>`, `<form action=https://evil.example><button>x</button></form>`,
	`<a href="javascript:alert(1)">x</a>`, `[x](javascript:alert(1))`, `[x](JaVaScRiPt:alert(1))`,
	`[x](java&#10;script:alert(1))`, `[x](&#106;avascript:alert(1))`, `[x](data:text/html,<script>alert(1)</script>)`,
	`[x](data:text/html;base64,PHNjcmlwdD4=)`, `[x](vbscript:x)`, `[x](file:///etc/passwd)`, `[x](blob:x)`,
	`![x](javascript:alert(1))`, `![x](data:image/svg+xml,<svg onload=alert(1)>)`, `![x](//evil.example/a.png)`,
	`![x](https://evil.example/a.png "onload=alert(1)")`, `![a" onerror="alert(1)](https://evil.example/a.png)`,
	`[x](https://e.example/" onclick="alert(1))`, `[x](https://e.example/ "a\" onclick=alert(1)")`,
	`<javascript:alert(1)>`, `<https://e.example/"onmouseover="alert(1)>`, "<a\nhref=javascript:alert(1)>x</a>",
	`<div style="position:fixed;inset:0">x</div>`, "```\"><script>alert(1)</script>\nx\n```",
	"```html\n<script>alert(1)</script>\n```", "``` onload=alert(1)\nx\n```", "`<script>alert(1)</script>`",
	`<details open ontoggle=alert(1)>`, `<video src=x onerror=alert(1)>`, `<math><mi xlink:href="javascript:alert(1)">`,
	`<input autofocus onfocus=alert(1)>`, `- [x" onclick="alert(1)] y`,
	"| <img src=x onerror=alert(1)> |\n| --- |\n| x |", "| a |\n| --- |\n| [x](javascript:alert(1)) |",
	`[a]: javascript:alert(1)` + "\n\n[a]", `<!-- --><script>alert(1)</script>`, `<![CDATA[<script>alert(1)</script>]]>`, `<?php echo 1 ?>`, `<x onclick=alert(1)>y</x>`,
	"\x00<script>alert(1)</script>", `&lt;script&gt;alert(1)&lt;/script&gt;`,
	`&#60;script&#62;alert(1)&#60;/script&#62;`, "# <img src=x onerror=alert(1)>", "> <script>alert(1)</script>", "<scr<script>ipt>alert(1)</scr</script>ipt>", `<noscript><p title="</noscript><img src=x onerror=alert(1)>">`,
	`<template><script>alert(1)</script></template>`, `<body onload=alert(1)>`, `<html manifest=x>`,
	`<textarea><script>alert(1)</script></textarea>`, `<title><img src=x onerror=alert(1)></title>`, "[x](<javascript:alert(1)>)", "[x]( javascript:alert(1))", "[x](\u0001javascript:alert(1))",
	"[x](\u00a0javascript:alert(1))", "http://e.example/\"><script>alert(1)</script>", "www.evil.example/<script>",
	"<img/src=`x`onerror=alert(1)>", "<a id=main>x</a>", "<a name=help>x</a>", `<span class="sr-only">x</span>`, `<button form=composer>x</button>`,
}

func TestMarkdownIsHarmless(t *testing.T) {
	allowed := map[string]bool{}
	for _, e := range strings.Fields(
		"p br hr h3 h4 h5 h6 ul ol li blockquote pre code em strong del span div table thead tbody tr th td a") {
		allowed[e] = true
	}
	for _, in := range hostile {
		checkHarmless(t, in, Markdown(in), allowed)
	}
}

func checkHarmless(t *testing.T, in, out string, allowed map[string]bool) {
	t.Helper()
	for _, tag := range tags(out) {
		name, rest, _ := strings.Cut(strings.Trim(tag, "</>"), " ")
		if !allowed[name] {
			t.Errorf("%q lets <%s> through:\n%s", in, name, out)
		}
		low := strings.ToLower(rest)
		for _, bad := range []string{" on", "style=", "javascript:", "data:", "vbscript:", "file:", " id=", " name=",
			" src=", "formaction"} {
			if strings.Contains(" "+unquoted(low, bad), bad) {
				t.Errorf("%q leaves %q in <%s>:\n%s", in, bad, tag, out)
			}
		}
	}
}

// unquoted removes attribute values for checks of attribute names; schemes are searched at the start of values.
func unquoted(s, bad string) string {
	var b strings.Builder
	for i, piece := range strings.Split(s, `"`) {
		if i%2 == 0 {
			b.WriteString(piece)
		} else if strings.HasSuffix(bad, ":") && strings.HasPrefix(strings.TrimSpace(piece), bad) {
			b.WriteString(bad)
		}
	}
	return b.String()
}

func tags(s string) []string {
	var out []string
	for {
		i := strings.IndexByte(s, '<')
		if i < 0 {
			return out
		}
		end := strings.IndexByte(s[i:], '>')
		if end < 0 {
			return append(out, s[i:])
		}
		out = append(out, s[i:i+end+1])
		s = s[i+end+1:]
	}
}

var longSample = sample + "\n\n" + strings.Repeat("- an **item** of `some` length\n", 200) + "\n" +
	strings.Repeat("1. a numbered one\n2. and its next\n", 100)

const sample = "Here is **the plan** for `main.go`:\n\n1. read\n2. write\n   more\n\n3. " +
	"check\n\nThen:\n\n```go\nfunc main() {\n\n\tprintln(\"<hi>\")\n}\n```\nAfter the code.\n\n| a | b |\n| --- | " +
	"--- |\n| 1 | 2 |\n| 3 | 4 |\n\n> quoted\n> text\n\n- [ ] open\n- [x] done\n\n  ```sh\n  ls\n  ```\n\nlast words"

// A streamed text must equal a reloaded one.
func TestStreamedEqualsLoaded(t *testing.T) {
	want := Markdown(longSample)
	for step := 1; step < 50; step += 7 {
		var s Splitter
		for i := 0; i < len(longSample); i += step {
			s.Update(longSample[:i], false)
		}
		var got strings.Builder
		for _, b := range s.Update(longSample, true) {
			got.WriteString(b.HTML())
		}
		if got.String() != want {
			t.Fatalf("in steps of %d:\n%s\nat once:\n%s", step, got.String(), want)
		}
	}
}

func TestClosedBlocksNeverChange(t *testing.T) {
	var s Splitter
	var last []Block
	for i := range sample {
		now := s.Update(sample[:i], false)
		for j := 0; j < len(last)-1; j++ {
			if now[j].Source != last[j].Source {
				t.Fatalf("after %d bytes block %d changed from %q to %q", i, j, last[j].Source, now[j].Source)
			}
		}
		last = now
	}
}

func TestGrow(t *testing.T) {
	for _, c := range []struct {
		name, old, new string
		want           Growth
	}{
		{"text in a paragraph", "<p>a</p>\n", "<p>a b</p>\n", Growth{1, false, " b"}},
		{"text in the last item", "<ul>\n<li>a</li>\n</ul>\n", "<ul>\n<li>ab</li>\n</ul>\n", Growth{2, false, "b"}},
		{"a new item", "<ul>\n<li>a</li>\n</ul>\n", "<ul>\n<li>a</li>\n<li>b</li>\n</ul>\n",
			Growth{1, false, "<li>b</li>\n"}},
		{"finished emphasis after text", "<p>a </p>\n", "<p>a <em>b</em></p>\n", Growth{1, false, "<em>b</em>"}},
		{"text that turned into emphasis", "<p>a **b</p>\n", "<p>a <strong>b</strong></p>\n",
			Growth{0, true, "<p>a <strong>b</strong></p>\n"}},
		{"emphasis in the last item alone", "<ul>\n<li>x</li>\n<li>a **b</li>\n</ul>\n",
			"<ul>\n<li>x</li>\n<li>a <strong>b</strong></li>\n</ul>\n",
			Growth{1, true, "<li>a <strong>b</strong></li>\n"}},
		{"shorter", "<p>ab</p>\n", "<p>a</p>\n", Growth{0, true, "<p>a</p>\n"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			if g, ok := Grow(c.old, c.new); !ok || g != c.want {
				t.Errorf("got %+v %v", g, ok)
			}
		})
	}
}

func FuzzMarkdown(f *testing.F) {
	for _, in := range hostile {
		f.Add(in)
	}
	f.Add(sample)
	allowed := map[string]bool{}
	for _, e := range strings.Fields(
		"p br hr h3 h4 h5 h6 ul ol li blockquote pre code em strong del span div table thead tbody tr th td a") {
		allowed[e] = true
	}
	f.Fuzz(func(t *testing.T, in string) {
		checkHarmless(t, in, Markdown(in), allowed)
		var s Splitter
		for i := 0; i < len(in); i += 3 {
			s.Update(in[:i], false)
		}
		var got strings.Builder
		for _, b := range s.Update(in, true) {
			got.WriteString(b.HTML())
		}
		if want := Markdown(in); got.String() != want {
			t.Errorf("streamed and loaded differ for %q:\n%s\n%s", in, got.String(), want)
		}
	})
}
