package e2e

import (
	"fmt"
	"html"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/chromedp"
)

// reviewing is a repository under review, on the pages of two people.
type reviewing struct {
	*testing.T
	program  *Program
	dir      string
	ana, ben *Page
	base     string // of the session
}

// far keeps changes in separate hunks.
var far = strings.Repeat("line that stays\n", 12)

func review(t *testing.T, files map[string]string) *reviewing {
	t.Helper()
	browser := OpenBrowser(t)
	r := &reviewing{T: t, program: Start(t, Options{}), dir: t.TempDir(), ana: browser.Page(), ben: browser.Page()}
	for name, text := range files {
		r.write(name, text)
	}
	for _, args := range [][]string{{"init", "-q", "-b", "main"}, {"add", "-A"}, {"-c", "user.name=Ana", "-c",
		"user.email=ana@example.com", "commit", "-qm", "Before"}} {
		r.git(args...)
	}
	r.ana.look(1440, 900, "light")
	r.ben.look(1440, 900, "light")
	r.ana.SignIn(r.program)
	r.ben.SignIn(r.program)
	r.ana.Open(r.program.URL + "/new")
	r.ana.Wait("document.readyState === 'complete'")
	r.ana.Fill("#dir", r.dir)
	r.ana.Click("input[name=agent][value=shell]")
	r.ana.Click("form button.main")
	r.ana.Wait("location.pathname.startsWith('/s/')")
	r.base = r.program.URL + strings.Join(strings.Split(Eval[string](r.ana, "location.pathname"), "/")[:3], "/")
	return r
}

func (r *reviewing) git(args ...string) {
	r.Helper()
	cmd := exec.Command("git", args...)
	cmd.Dir = r.dir
	if out, err := cmd.CombinedOutput(); err != nil {
		r.Fatalf("git %v: %v\n%s", args, err, out)
	}
}

func (r *reviewing) write(name, text string) {
	r.Helper()
	file := filepath.Join(r.dir, name)
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		r.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		r.Fatal(err)
	}
}

// open reloads the uncommitted changes for both.
func (r *reviewing) open(query string) {
	r.Helper()
	for _, p := range []*Page{r.ana, r.ben} {
		r.cold(p, "/changes?scope=uncommitted"+query)
	}
}

func (r *reviewing) cold(p *Page, path string) {
	r.Helper()
	p.Open("about:blank")
	p.Open(r.base + path)
	p.Live()
}

func (r *reviewing) both(selector, says string) {
	r.Helper()
	r.ana.Says(selector, says)
	r.ben.Says(selector, says)
}

// at moves the cursor to a line.
func (r *reviewing) at(p *Page, text string) {
	r.Helper()
	found := fmt.Sprintf("document.querySelector('.r.cur')?.innerText.includes(%q)", text)
	for range 80 {
		if Eval[bool](p, "!!"+found) {
			return
		}
		p.Press("j")
	}
	r.Fatalf("the key j never came to %q", text)
}

// Marks of files and hunks are shared, set by keys, and end when their lines change.
func TestReviewMarks(t *testing.T) {
	t.Parallel()
	old := "alpha\n" + far + "beta\n" + far + "gamma\n"
	r := review(t, map[string]string{"a.txt": old, "b.txt": "one\n", "c.txt": "two\n"})
	r.write("a.txt", "ALPHA\n"+far+"BETA\n"+far+"GAMMA\n")
	r.write("b.txt", "ONE\n")
	r.write("c.txt", "TWO\n")
	r.open("")
	r.both("#review-counts", "0/3 reviewed")

	r.ana.Click("#tree li[data-path='a.txt'] a")
	r.ana.Press("v")
	r.both("#review-counts", "1/3 reviewed")
	r.both(file("a.txt")+" .file-head", "by ")
	if at := r.ana.Text("#tree li.here"); !strings.Contains(at, "b.txt") {
		t.Errorf("v went on to %q, want the next file that is not reviewed", at)
	}
	if !Eval[bool](r.ana, "document.querySelector('"+file("a.txt")+"').classList.contains('shut')") {
		t.Error("a reviewed file stays open")
	}

	r.write("a.txt", "ALPHA\n"+far+"BETA, again\n"+far+"GAMMA\n") // the second of three hunks has changed
	for _, p := range []*Page{r.ana, r.ben} {
		p.Says(file("a.txt")+" .stale", "Changed since reviewed")
		p.Says("#review-counts", "0/3 reviewed")
		p.Says(file("a.txt")+" .file-head", "2/3 hunks")
		p.Wait("document.querySelectorAll('" + file("a.txt") + " .reviewed-hunk:not([open])').length === 2")
		p.Wait("[...document.querySelectorAll('" + file("a.txt") +
			" .r.a')].filter(r => r.checkVisibility()).length === 1")
	}

	r.ana.Press("K")
	r.ana.Press("n")
	r.ana.Press("V")
	r.both("#review-counts", "1/3 reviewed")
	r.cold(r.ben, "/changes?scope=uncommitted") // it is kept
	r.ben.Wait("document.querySelector('" + file("a.txt") + " .file-mark').getAttribute('aria-pressed') === 'true'")

	r.ana.Click(file("a.txt") + " .fold")
	r.hover(r.ana, file("a.txt")+" .r.a")
	r.ana.Click(file("a.txt") + " .hunk-mark[aria-pressed=true]")
	r.both("#review-counts", "0/3 reviewed")
	r.both(file("a.txt")+" .file-head", "2/3 hunks")
	r.ana.leave()
	r.ben.leave()
}

// A hunk is marked without scripts, and discarded from its bar: with a confirmation, keeping the
// rest of the file.
func TestHunkButtons(t *testing.T) {
	t.Parallel()
	r := review(t, map[string]string{"a.txt": "alpha\n" + far + "beta\n"})
	r.write("a.txt", "ALPHA\n"+far+"BETA\n")
	r.cold(r.ana, "/changes?scope=uncommitted")
	r.ana.Says("#review-counts", "0/1 reviewed")
	key := Eval[string](r.ana, "document.querySelector('"+file("a.txt")+"').dataset.file")
	_, plain := r.get("/changes/file/" + key + "?scope=uncommitted")
	marks := regexp.MustCompile(`formaction="([^"]*hunk=[0-9a-f][^"]*)"`).FindAllStringSubmatch(plain, -1)
	if len(marks) != 2 || !strings.Contains(plain, ">Discard hunk<") {
		t.Fatalf("the file's own page has %d buttons for its hunks, and offers to discard one: %v", len(marks),
			strings.Contains(plain, ">Discard hunk<"))
	}
	if code := r.post(html.UnescapeString(marks[1][1])); code != http.StatusSeeOther {
		t.Errorf("marking without a script: %d", code)
	}
	r.ana.Says(file("a.txt")+" .file-head", "1/2 hunks")
	r.ana.Press("n")
	const button = ".h .hunk-tools form:has([value=discard], [value=revert]) button"
	r.ana.Wait("document.querySelector('" + button + "')")
	if !r.ana.hidden(".h .hunk-tools form:has([value=unstage])") {
		t.Error("nothing is staged, and a hunk can be taken out of the index")
	}
	r.ana.Click(button)
	r.ana.WaitText(button, "Click again to")
	r.ana.Click(button)
	r.ana.Wait("document.querySelectorAll('" + file("a.txt") + " .r.a').length === 1")
	if got, _ := os.ReadFile(filepath.Join(r.dir, "a.txt")); string(got) != "alpha\n"+far+"BETA\n" {
		t.Errorf("the file is %q", got)
	}
	r.ana.leave()
	r.ben.leave()
}

// landed returns the distance of the marked line's middle from the middle of the view, once the
// page has settled.
const landed = `(() => { const r = document.querySelector('.r.sel')?.getBoundingClientRect(), m = document.getElementById('main').getBoundingClientRect();
	return r ? Math.round(r.top + r.height / 2 - (m.top + m.height / 2)) : 9999 })()`

// A link copied with y opens on its lines in a new page, even if they have moved.
func TestPermalinks(t *testing.T) {
	t.Parallel()
	many := strings.Repeat("a line of many\n", 60)
	r := review(t, map[string]string{"long.txt": many + "old\n" + many, "other.txt": "x\n"})
	r.write("long.txt", many+"first of two\nthe line that is meant\n"+many)
	r.write("other.txt", "y\n")
	r.open("")
	r.at(r.ana, "the line that is meant")
	r.ana.Press("y")
	link := Eval[string](r.ana, "location.hash")
	if !strings.Contains(link, "R62@") {
		t.Fatalf("the link is %q, without its line or version", link)
	}
	arrives := func(link, text, note string) {
		t.Helper()
		r.cold(r.ben, "/changes?scope=uncommitted"+link)
		r.ben.Wait("[...document.querySelectorAll('.r.sel')].some(r => r.innerText.includes('" + text + "'))")
		if note == "" && Eval[bool](r.ben, "!!document.querySelector('.was')") {
			t.Errorf("%s: a note on a link whose lines stand where they stood", link)
		}
		if note != "" {
			r.ben.Says(".file-body .was", note)
		}
		r.ben.Wait("Math.abs(" + landed +
			") <= 4 || document.getElementById('main').scrollTop === 0 || document.getElementById('main').scrollTop " +
			"+ document.getElementById('main').clientHeight > document.getElementById('main').scrollHeight - 2")
	}
	arrives(link, "the line that is meant", "")

	r.write("long.txt", "new at the top\n"+many+"first of two\nthe line that is meant\n"+many)
	r.ana.Says(file("long.txt")+" .plus-minus", "+3")
	arrives(link, "the line that is meant", "Moved from L62")

	if err := os.Rename(filepath.Join(r.dir, "long.txt"), filepath.Join(r.dir, "renamed.txt")); err != nil {
		t.Fatal(err)
	}
	r.ana.Wait("document.querySelector('" + file("renamed.txt") + "')")
	arrives(link, "the line that is meant", "Moved from L62")

	r.write("renamed.txt", "new at the top\n"+many+"first of two\n"+many)
	r.ana.Wait("!document.querySelector('" + file("renamed.txt") + "')?.innerText.includes('is meant')")
	r.cold(r.ben, "/changes?scope=uncommitted"+link)
	r.ben.Says(".file-body .was", "no longer exist")
	r.ben.Says(".file-body .was pre", "the line that is meant")

	r.ana.Press("J") // a file, a range, a line between the hunks
	r.cold(r.ben, "/changes?scope=uncommitted#f-"+Eval[string](r.ana, "document.querySelector('"+file("other.txt")+
		"').dataset.file"))
	r.ben.WaitText("#tree li.here", "other.txt")
	key := Eval[string](r.ana, "document.querySelector('"+file("renamed.txt")+"').dataset.file")
	r.cold(r.ben, "/changes?scope=uncommitted#f-"+key+"R61-R62")
	r.ben.Wait("document.querySelectorAll('.r.sel').length >= 2")
	arrives("#f-"+key+"R30", "a line of many", "")
	r.ana.leave()
	r.ben.leave()
}

// Comments on lines of either side, on ranges, on files and on expanded context; each has a link.
func TestCommentsAnywhere(t *testing.T) {
	t.Parallel()
	r := review(t, map[string]string{"a.txt": far + "gone\n" + far})
	r.write("a.txt", far+"new one\nnew two\n"+far)
	r.open("")
	say := func(text string) {
		t.Helper()
		r.ana.Wait("document.activeElement?.matches('form.comment-form textarea')")
		r.ana.Type(text)
		r.ana.Click("form.comment-form button[value=comment]")
		r.ana.Wait("!document.querySelector('#files form.comment-form')")
		r.both(file("a.txt")+" .file-body", text)
	}
	under := func(text, line, place string) {
		t.Helper()
		r.ben.Wait(fmt.Sprintf("(() => { const t = [...document.querySelectorAll('.thr')].find(t => "+
			"t.innerText.includes(%q)); return t?.dataset.at === %q && "+
			"t.previousElementSibling?.innerText.includes(%q) })()", text, place, line))
	}
	r.at(r.ana, "gone")
	r.ana.Press("c")
	say("on the old side")
	under("on the old side", "gone", "L13")
	r.at(r.ana, "new one")
	r.ana.Press("s")
	r.ana.Press("j")
	r.ana.Press("c")
	say("on two lines")
	under("on two lines", "new two", "R13-R14")
	r.ana.Press("C")
	say("on the file")
	r.ana.Press("x")
	r.ana.Wait("document.querySelectorAll('" + file("a.txt") + " .r').length > 12")
	for range 20 {
		r.ana.Press("j")
	}
	r.ana.Press("c")
	say("on context that was opened")
	under("on context that was opened", "line that stays", "R26")

	r.ana.Click(".thr .thread > summary")
	id := Eval[string](r.ana, "document.querySelector('.thread').id")
	r.cold(r.ben, "/changes?scope=uncommitted#"+id)
	r.ben.Wait("(() => { const b = document.getElementById('" + id +
		"').getBoundingClientRect(); return b.bottom > 0 && b.top < innerHeight })()")
	r.ana.leave()
	r.ben.leave()
}

// The address determines what is compared and how it is shown: another browser shows the same.
func TestAddressHoldsTheView(t *testing.T) {
	t.Parallel()
	r := review(t, map[string]string{"a.txt": "one\n" + far + "two\n", "b.txt": "same  words\n"})
	r.write("a.txt", "  one\n"+far+"TWO\n")
	r.write("b.txt", "same words\n")
	r.open("")
	r.ana.Says(file("a.txt")+" .plus-minus", "+2")
	r.ana.Press("w")
	r.ana.Wait("location.search.includes('ws=amount') && document.readyState === 'complete'")
	r.ana.Says(file("b.txt"), "Only whitespace changed")
	r.ana.Says(file("a.txt")+" .plus-minus", "+2")
	r.ana.Press("w")
	r.ana.Wait("location.search.includes('ws=ignore') && document.readyState === 'complete'")
	r.ana.Says(file("a.txt")+" .plus-minus", "+1")
	r.ana.Press("m")
	r.ana.Wait("location.search.includes('view=split') && document.readyState === 'complete'")
	r.ana.Live()
	r.ben.Open("about:blank")
	r.ben.Open(Eval[string](r.ana, "location.href"))
	r.ben.Live()
	r.ben.Wait("document.querySelector('.file-body.split')")
	r.ben.Says("#ws summary", "Whitespace ignored")
	r.ben.Says("#scope-now", "Uncommitted")
	r.ben.Says("#scope-now", "+3")
	r.ana.leave()
	r.ben.leave()
}

// Moved lines link to their source; folded files open by a click.
func TestMovedAndFolded(t *testing.T) {
	t.Parallel()
	moved := "func Helper(name string) string {\n\tif name == \"\" {\n\t\treturn \"nobody\"\n\t}\n\treturn " +
		"strings.ToUpper(name)\n}\n"
	r := review(t, map[string]string{"a.go": "package a\n\n" + moved + "\nvar kept = 1\n",
		"go.sum": "example.com/a v1.0.0 h1:a=\n"})
	r.write("a.go", "package a\n\nvar kept = 1\n")
	r.write("b/b.go", "package b\n\n"+moved)
	r.write("go.sum", "example.com/a v1.1.0 h1:b=\n")
	r.open("")
	r.ana.Wait("document.querySelectorAll('.r.a.m').length === 6 && document.querySelectorAll('.r.d.m').length === 6")
	r.ana.Wait("document.querySelector('.mv')?.getAttribute('aria-label') === 'Moved from a.go:L3'")
	r.ana.Click(".mv[aria-label^='Moved to']")
	r.ana.Wait("document.querySelector('.r.cur')?.closest('.file').dataset.path === 'b/b.go' && " +
		"document.querySelector('.r.cur').innerText.startsWith('func Helper')")
	r.ana.Says(file("go.sum")+" .file-note", "a lock file")
	r.ana.Click(file("go.sum") + " .load")
	r.ana.Wait("document.querySelectorAll('" + file("go.sum") + " .r.a').length === 1")
	_, plain := r.get("/changes/file/" + Eval[string](r.ana, "document.querySelector('"+file("go.sum")+
		"').dataset.file") + "?scope=uncommitted")
	if !strings.Contains(plain, `class="r a"`) {
		t.Error("without a script the folded file does not open")
	}
	r.ana.leave()
	r.ben.leave()
}

// post submits a button's form like a browser without scripts.
func (r *reviewing) post(path string) int {
	r.Helper()
	c, _ := signIn(r.T, r.program.SignIn())
	c.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	req, err := http.NewRequestWithContext(r.Context(), http.MethodPost, r.program.URL+path, nil)
	if err != nil {
		r.Fatal(err)
	}
	req.Header.Set("Origin", r.program.URL)
	res, err := c.Do(req)
	if err != nil {
		r.Fatal(err)
	}
	defer res.Body.Close()
	return res.StatusCode
}

// hover moves the mouse over an element.
func (r *reviewing) hover(p *Page, selector string) {
	r.Helper()
	at := Eval[[]float64](p, "(() => { const b = document.querySelector('"+selector+
		"').getBoundingClientRect(); return [b.x + b.width / 2, b.y + b.height / 2] })()")
	p.Do(chromedp.MouseEvent(input.DispatchMouseEventTypeMouseMoved, at[0], at[1]))
}

// get requests a page as the owner, without a browser.
func (r *reviewing) get(path string) (int, string) {
	r.Helper()
	c, _ := signIn(r.T, r.program.SignIn())
	res, err := c.Get(r.base + path)
	if err != nil {
		r.Fatal(err)
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	if err != nil {
		r.Fatal(err)
	}
	return res.StatusCode, string(body)
}
