package static

import (
	"io/fs"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// declaration is a property of a rule.
type declaration struct {
	file, selector, property, value string
}

var (
	comment  = regexp.MustCompile(`(?s)/\*.*?\*/`)
	ruleBody = regexp.MustCompile(`([^{}]*)\{([^{}]*)\}`)
)

// declarations reads our style sheets, except for the tokens.
func declarations(t *testing.T) (all []declaration) {
	t.Helper()
	names, err := fs.Glob(files, "css/*.css")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		if name == "css/tokens.css" {
			continue
		}
		text, err := files.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		for _, rule := range ruleBody.FindAllStringSubmatch(comment.ReplaceAllString(string(text), ""), -1) {
			selector := strings.Join(strings.Fields(rule[1]), " ")
			for d := range strings.SplitSeq(rule[2], ";") {
				if property, value, ok := strings.Cut(d, ":"); ok {
					all = append(all, declaration{name, selector, strings.TrimSpace(property),
						strings.Join(strings.Fields(value), " ")})
				}
			}
		}
	}
	if len(all) < 1000 {
		t.Fatalf("%d declarations in %d style sheets: they are not read", len(all), len(names))
	}
	return all
}

// Every color, font size, weight and radius is one of tokens.css.
func TestStyleSheetsUseTokens(t *testing.T) {
	colour := regexp.MustCompile(`(?i)light-dark\(|#[0-9a-f]{3,8}\b|\b(rgb|hsl|hwb|lab|lch|oklab|oklch)a?\(`)
	size := regexp.MustCompile(`^(var\(--(small|normal|large|huge)\)|inherit|0)$`)
	font := regexp.MustCompile(`^(inherit|(400 |600 )?var\(--(small|normal|large|huge)\) ?/ ?[0-9a-z]+ var\(--(ui|mono)\))$`)
	weight := regexp.MustCompile(`^(400|600|inherit)$`)
	radius := regexp.MustCompile(`^((var\(--radius(-s)?\)|0) ?)+$|^50%$|^inherit$`)
	for _, d := range declarations(t) {
		var bad bool
		switch {
		case colour.MatchString(d.value):
			bad = true
		case d.property == "font-size":
			bad = !size.MatchString(d.value)
		case d.property == "font":
			bad = !font.MatchString(d.value)
		case d.property == "font-weight":
			bad = !weight.MatchString(d.value)
		case strings.HasSuffix(d.property, "radius"):
			bad = !radius.MatchString(d.value)
		}
		if bad {
			t.Errorf("%s: %s { %s: %s } is not one of tokens.css", d.file, d.selector, d.property, d.value)
		}
	}
}

// offGrid are the rows of a diff, whose text is in columns; all other spacing is in steps of 4 px.
var offGrid = regexp.MustCompile(`\.(r|h|chunk|scroll-x|reviewed-hunk|hunk-tools|mv)\b`)

// Paddings, margins and gaps are in steps of 4 px.
func TestSpaceIsOnTheGrid(t *testing.T) {
	space := regexp.MustCompile(`^(padding|margin|gap|row-gap|column-gap)\b`)
	pixels := regexp.MustCompile(`(-?[0-9.]+)px`)
	for _, d := range declarations(t) {
		if !space.MatchString(d.property) || offGrid.MatchString(d.selector) {
			continue
		}
		for _, m := range pixels.FindAllStringSubmatch(d.value, -1) {
			if n, err := strconv.ParseFloat(m[1], 64); err != nil || int(n*10)%40 != 0 {
				t.Errorf("%s: %s { %s: %s } is not in steps of 4 px", d.file, d.selector, d.property, d.value)
			}
		}
	}
}

// If a style depends on the whole page, each change below recomputes it: half a second for a comment box in a
// large review on a slow processor.
func TestNoStyleLooksForItsCauseInWholePage(t *testing.T) {
	whole := regexp.MustCompile(`(^|[\s,>+~(])(html|body|:root|#main|main|\.app)[^\s,>+~]*:has\(`)
	for _, d := range declarations(t) {
		if whole.MatchString(d.selector) {
			t.Errorf("%s: %s depends on all that the page holds: use a class on what it styles", d.file, d.selector)
		}
	}
}

// Strong lines are only for inputs, and shadows for elements above the page.
func TestStrongLinesAreForInputs(t *testing.T) {
	inputs := regexp.MustCompile(`input|textarea|select|\.field|\.compose|\.file-mark::before|\.hunk-mark::before|\.tree`)
	for _, d := range declarations(t) {
		if strings.Contains(d.value, "var(--line-2)") && !inputs.MatchString(d.selector) {
			t.Errorf("%s: %s { %s: %s } is a strong line", d.file, d.selector, d.property, d.value)
		}
		if d.property == "box-shadow" && strings.Count(d.value, "px") > 2 {
			t.Errorf("%s: %s has a shadow of its own: use var(--shadow)", d.file, d.selector)
		}
	}
}

// Amber is only for risk: a new rule must state here which risk it shows.
func TestAmberIsForRisk(t *testing.T) {
	risks := map[string]string{
		".note.warn":              "what the note says can do harm",
		".warnmark":               "a session in a wide directory, or without isolation",
		"#conn":                   "what is shown may be old, and what is typed is not sent",
		".hid::before":            "a character that cannot be seen",
		".warned":                 "a file that is private, or a choice that opens more",
		".setting.warn":           "a setting that lets an agent act without asking",
		".audit .outcome.warn":    "an outcome that is not known",
		".review .late":           "a suggestion or verdict for an older version",
		".termtab .status.warn":   "a terminal outside of the sandbox",
		`[data-line="down"] #who`: "what is typed does not arrive",
	}
	used := map[string]bool{}
	for _, d := range declarations(t) {
		if !strings.Contains(d.value, "var(--warn") {
			continue
		}
		selector, _, _ := strings.Cut(d.selector, ",")
		if used[selector] = true; risks[selector] == "" {
			t.Errorf("%s: %s is amber: name its risk here, or take another colour", d.file, d.selector)
		}
	}
	for selector := range risks {
		if !used[selector] {
			t.Errorf("%s is not amber any more: remove its row", selector)
		}
	}
}

// A session's title in the rail is bold if and only if it has unread changes.
func TestRailTitlesAreBoldWhenUnread(t *testing.T) {
	weights := map[string]string{}
	for _, d := range declarations(t) {
		if d.property == "font-weight" {
			weights[d.selector] = d.value
		}
	}
	if w := weights[".rail-item .title"]; w != "" && w != "400" {
		t.Errorf("titles have the weight %s", w)
	}
	if w := weights[".rail-item.unread .title"]; w != "600" {
		t.Errorf("unread titles have the weight %q", w)
	}
}

// TestHasNamesItsSubject checks that :has() follows a tag, class, id or attribute: without one, the browser matches
// styles again up the tree of each added element, which doubled the time of a key press while an
// answer streams.
func TestHasNamesItsSubject(t *testing.T) {
	unnamed := regexp.MustCompile(`(^|[\s>+~,*])(:[a-z-]+(\([^()]*\))?)*:has\(`)
	for _, bad := range []string{"#more :has(> #base)", ".turn > *:has(.x)", ":has(li) ~ p"} {
		if !unnamed.MatchString(bad) {
			t.Errorf("%q is not found", bad)
		}
	}
	seen := map[string]bool{}
	for _, d := range declarations(t) {
		if selector := d.file + ": " + d.selector; !seen[selector] && unnamed.MatchString(d.selector) {
			seen[selector] = true
			t.Errorf("%s: name the element in front of :has()", selector)
		}
	}
}
