package part

import (
	"bytes"
	"html"
	"regexp"
	"strings"
	"sync"

	"github.com/alecthomas/chroma/v2"
	"github.com/alecthomas/chroma/v2/lexers"
	"github.com/microcosm-cc/bluemonday"
	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	extast "github.com/yuin/goldmark/extension/ast"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/renderer"
	"github.com/yuin/goldmark/util"

	"github.com/ahphub/ahphub/hub/recent"
)

// Markdown renders text written by a model or a person: GitHub's flavor. Raw HTML is shown as text, and an allow list
// filters the result. Pictures of other hosts become links that load them on a click.
func Markdown(text string) string {
	var b strings.Builder
	for _, block := range Blocks(text) {
		b.WriteString(block.HTML())
	}
	return b.String()
}

// markdown has no parser for raw HTML, so HTML is text.
var markdown = goldmark.New(
	goldmark.WithParser(parser.NewParser(
		parser.WithBlockParsers(
			util.Prioritized(parser.NewSetextHeadingParser(), 100),
			util.Prioritized(parser.NewThematicBreakParser(), 200),
			util.Prioritized(parser.NewListParser(), 300),
			util.Prioritized(parser.NewListItemParser(), 400),
			util.Prioritized(parser.NewCodeBlockParser(), 500),
			util.Prioritized(parser.NewATXHeadingParser(), 600),
			util.Prioritized(parser.NewFencedCodeBlockParser(), 700),
			util.Prioritized(parser.NewBlockquoteParser(), 800),
			util.Prioritized(parser.NewParagraphParser(), 1000),
		),
		parser.WithInlineParsers(
			util.Prioritized(parser.NewCodeSpanParser(), 100),
			util.Prioritized(parser.NewLinkParser(), 200),
			util.Prioritized(parser.NewAutoLinkParser(), 300),
			util.Prioritized(parser.NewEmphasisParser(), 500),
		),
		parser.WithParagraphTransformers(util.Prioritized(parser.LinkReferenceParagraphTransformer, 100)),
	)),
	goldmark.WithExtensions(extension.Table, extension.Strikethrough, extension.Linkify, extension.TaskList),
	goldmark.WithRendererOptions(renderer.WithNodeRenderers(util.Prioritized(partRenderer{}, 10))),
)

// partRenderer renders code with highlighting classes, and images and links by our own rules.
type partRenderer struct{}

// RegisterFuncs registers the nodes that are rendered differently from goldmark's default.
func (p partRenderer) RegisterFuncs(reg renderer.NodeRendererFuncRegisterer) {
	reg.Register(ast.KindFencedCodeBlock, p.fence)
	reg.Register(ast.KindCodeBlock, p.fence)
	reg.Register(ast.KindImage, p.image)
	reg.Register(ast.KindHeading, p.heading)
	reg.Register(extast.KindTaskCheckBox, p.task)
}

func (partRenderer) fence(w util.BufWriter, src []byte, n ast.Node, entering bool) (ast.WalkStatus, error) {
	if !entering {
		return ast.WalkContinue, nil
	}
	lang := ""
	if f, ok := n.(*ast.FencedCodeBlock); ok {
		lang = string(f.Language(src))
	}
	var code bytes.Buffer
	for i := range n.Lines().Len() {
		line := n.Lines().At(i)
		code.Write(line.Value(src))
	}
	_, _ = w.WriteString(CodeBlock(lang, code.String()))
	return ast.WalkSkipChildren, nil
}

// task renders a sign instead of a checkbox, because readers cannot change an agent's list.
func (partRenderer) task(w util.BufWriter, _ []byte, n ast.Node, entering bool) (ast.WalkStatus, error) {
	if entering {
		_, _ = w.WriteString(map[bool]string{true: "☑ ", false: "☐ "}[n.(*extast.TaskCheckBox).IsChecked])
	}
	return ast.WalkContinue, nil
}

// heading starts at h3, since the page has its own h1 and h2.
func (partRenderer) heading(w util.BufWriter, _ []byte, n ast.Node, entering bool) (ast.WalkStatus, error) {
	level := string('0' + byte(min(n.(*ast.Heading).Level+2, 6)))
	if entering {
		_, _ = w.WriteString("<h" + level + ">")
	} else {
		_, _ = w.WriteString("</h" + level + ">\n")
	}
	return ast.WalkContinue, nil
}

// image renders a link that names the picture; the page's script loads it on a click.
func (partRenderer) image(w util.BufWriter, src []byte, n ast.Node, entering bool) (ast.WalkStatus, error) {
	if !entering {
		return ast.WalkContinue, nil
	}
	img := n.(*ast.Image)
	alt := plainText(img, src)
	if alt == "" {
		alt = "picture"
	}
	dest := string(img.Destination)
	if !strings.HasPrefix(dest, "https://") && !strings.HasPrefix(dest, "http://") {
		_, _ = w.WriteString("[" + html.EscapeString(alt) + "]")
		return ast.WalkSkipChildren, nil
	}
	_, _ = w.WriteString(`<a href="` + html.EscapeString(dest) + `" data-image="remote">Load picture: ` +
		html.EscapeString(alt) + `</a>`)
	return ast.WalkSkipChildren, nil
}

func plainText(n ast.Node, src []byte) string {
	var b strings.Builder
	_ = ast.Walk(n, func(n ast.Node, entering bool) (ast.WalkStatus, error) {
		if t, ok := n.(*ast.Text); ok && entering {
			b.Write(t.Segment.Value(src))
		}
		return ast.WalkContinue, nil
	})
	return b.String()
}

// policy is the second defense: only these elements and attributes leave the renderer.
var policy = sync.OnceValue(func() *bluemonday.Policy {
	p := bluemonday.NewPolicy()
	p.AllowElements("p", "br", "hr", "h3", "h4", "h5", "h6", "ul", "blockquote", "pre", "code", "em", "strong", "del",
		"span", "div", "table", "thead", "tbody", "tr")
	p.AllowAttrs("start").Matching(regexp.MustCompile(`^\d{1,9}$`)).OnElements("ol")
	p.AllowElements("ol", "li", "th", "td")
	p.AllowAttrs("align").Matching(regexp.MustCompile(`^(left|right|center)$`)).OnElements("th", "td")
	p.AllowAttrs("class").Matching(regexp.MustCompile(`^(code|code-chunk|lang|hl-[a-z])$`)).OnElements("div", "span")
	p.AllowAttrs("tabindex").Matching(regexp.MustCompile(`^0$`)).OnElements("pre")
	p.AllowAttrs("data-image").Matching(regexp.MustCompile(`^remote$`)).OnElements("a")
	p.AllowAttrs("href").OnElements("a")
	p.AllowURLSchemes("http", "https", "mailto")
	p.RequireParseableURLs(true)
	p.AllowRelativeURLs(false)
	p.RequireNoFollowOnLinks(true)
	p.RequireNoReferrerOnLinks(true)
	p.AddTargetBlankToFullyQualifiedLinks(true)
	return p
})

func renderBlock(src string) string {
	var b bytes.Buffer
	if err := markdown.Convert([]byte(src), &b); err != nil {
		return "<p>" + html.EscapeString(src) + "</p>\n"
	}
	return policy().Sanitize(b.String())
}

// finished caches rendered blocks by their source: pages render the same turns repeatedly, and parsing and sanitizing
// is most of the cost of a chat's page.
var finished = recent.Values[string, string]{Bytes: 8 << 20}

// finishedBlock is renderBlock for a block that cannot change.
func finishedBlock(src string) string {
	if html, ok := finished.Get(src); ok {
		return html
	}
	html := renderBlock(src)
	finished.Put(strings.Clone(src), html, len(src)+len(html))
	return html
}

const mostHighlighted = 64 << 10 // bytes of one code block above which it is not highlighted

// CodeBlock renders a code fence; a language unknown to chroma is not highlighted.
func CodeBlock(lang, code string) string {
	return codeHead(lang) + highlight(lang, code) + "</code></pre></div>\n"
}

func codeHead(lang string) string {
	var b strings.Builder
	b.WriteString(`<div class="code">`)
	if lang != "" {
		b.WriteString(`<span class="lang">` + html.EscapeString(lang) + `</span>`)
	}
	b.WriteString(`<pre tabindex="0"><code>`)
	return b.String()
}

func highlight(lang, code string) string {
	lexer := lexers.Get(lang)
	if lexer == nil || lang == "" || len(code) > mostHighlighted {
		return html.EscapeString(code)
	}
	tokens, err := chroma.Coalesce(lexer).Tokenise(nil, code)
	if err != nil {
		return html.EscapeString(code)
	}
	var c codeChunks
	for t := tokens(); t != chroma.EOF; t = tokens() {
		for line := range strings.Lines(t.Value) { // a token can span chunks
			c.write(tokenClass(t.Type), line)
		}
	}
	return c.html()
}

// chunkLines is the size of a chunk of code. Browsers do not lay out chunks that are out of sight, so highlighting
// a long fence costs no more than its visible part. The style sheet knows their height.
const chunkLines = 40

type codeChunks struct {
	done, open strings.Builder
	lines      int // in open
}

func (c *codeChunks) write(class, text string) {
	if class != "" {
		c.open.WriteString(`<span class="hl-` + class + `">` + html.EscapeString(text) + `</span>`)
	} else {
		c.open.WriteString(html.EscapeString(text))
	}
	if c.lines += strings.Count(text, "\n"); c.lines < chunkLines {
		return
	}
	c.done.WriteString(`<span class="code-chunk">` + c.open.String() + `</span>`)
	c.open.Reset()
	c.lines = 0
}

// html returns the closed chunks and the open one.
func (c *codeChunks) html() string { return c.done.String() + c.open.String() }

// tokenClass maps chroma's token types to seven colors.
func tokenClass(t chroma.TokenType) string {
	switch {
	case t == chroma.KeywordType, t == chroma.NameClass, t == chroma.NameBuiltin:
		return "t"
	case t.InCategory(chroma.Keyword), t == chroma.OperatorWord:
		return "k"
	case t.InSubCategory(chroma.LiteralString):
		return "s"
	case t.InCategory(chroma.LiteralNumber), t.InSubCategory(chroma.LiteralNumber):
		return "n"
	case t == chroma.CommentPreproc, t == chroma.NameTag, t == chroma.NameAttribute, t == chroma.NameDecorator:
		return "p"
	case t.InCategory(chroma.Comment):
		return "c"
	case t == chroma.NameFunction, t == chroma.NameFunctionMagic:
		return "f"
	}
	return ""
}
