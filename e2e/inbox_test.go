package e2e

import (
	"context"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/chromedp"
)

// moveMouse moves the mouse to a position on the page.
func (p *Page) moveMouse(x, y float64) {
	p.t.Helper()
	p.Do(chromedp.MouseEvent("mouseMoved", x, y))
}

// touch puts a finger down at a position, or lifts it.
func (p *Page) touch(kind input.DispatchTouchEventType, at ...*input.TouchPoint) {
	p.t.Helper()
	p.Do(func(ctx context.Context, t *chromedp.Target) (chromedp.Void, error) {
		_, err := cdp.Call(ctx, t, input.DispatchTouchEvent, input.DispatchTouchEventParams{Type: kind,
			TouchPoints: at})
		return chromedp.Void{}, err
	})
}

// inbox is a page of the inbox, and another one that starts sessions with requests.
type inbox struct {
	*testing.T
	prog       *Program
	ana, other *Page
	dirs       map[string]string
	chats      map[string]string // paths of the sessions
}

// asks starts a session that requests to create a file with this name.
func (x *inbox) asks(name string) {
	x.Helper()
	x.dirs[name] = x.TempDir()
	form := url.Values{"agent": {"script"}, "dir": {x.dirs[name]}, "message": {"run touch " + name}}
	x.chats[name] = awaited[string](x.other,
		fmt.Sprintf("fetch('/new', {method: 'POST', body: new URLSearchParams(%q)}).then(r => r.url)", form.Encode()))
}

// awaited runs JavaScript and returns the result of its promise.
func awaited[T any](p *Page, expression string) T {
	p.t.Helper()
	ctx, cancel := context.WithTimeout(p.Ctx, patience)
	defer cancel()
	v, err := chromedp.Run(ctx, chromedp.Evaluate[T](expression, chromedp.EvalAwaitPromise))
	if err != nil {
		p.t.Fatalf("%s: %v\nat %s", expression, err, p.where())
	}
	return v
}

func (x *inbox) isDone(name string) bool {
	_, err := os.Stat(filepath.Join(x.dirs[name], name))
	return err == nil
}

// ran waits until the approved command has run; others must not have.
func (x *inbox) ran(name string, not ...string) {
	x.Helper()
	waitUntil(x.T, "the approval of "+name, func() error {
		if !x.isDone(name) {
			return fmt.Errorf("%s does not exist", name)
		}
		return nil
	})
	for _, other := range not {
		if x.isDone(other) {
			x.Errorf("the approval of %s let the session run that asks for %s", name, other)
		}
	}
}

// row returns the row of the session that requests a name.
func row(name string) string {
	return fmt.Sprintf("[...document.querySelectorAll('#inbox .inrow')].find(r => "+
		"r.querySelector('.cmd')?.textContent.includes('touch %s'))", name)
}

// approve returns the position of a row's button once it stops moving.
func (x *inbox) approve(name string) (float64, float64) {
	x.Helper()
	x.ana.Wait(row(name))
	Eval[bool](x.ana, row(name)+
		".querySelector('.ask-short [data-kind=approve]').scrollIntoView({block: 'center', behavior: 'instant'}), true")
	at := Eval[[]float64](x.ana, "(b => [b.x + b.width / 2, b.y + b.height / 2])("+row(name)+
		".querySelector('.ask-short [data-kind=approve]').getBoundingClientRect())")
	return at[0], at[1]
}

// shows waits until the list is up to date and nothing moves.
func (x *inbox) shows(names ...string) {
	x.Helper()
	x.ana.moveMouse(5, 5)
	x.ana.Wait(fmt.Sprintf("[...document.querySelectorAll('#inbox .approval:not(.answered) .cmd')].map(e => "+
		"e.textContent.trim()).sort().join() === %q", "touch "+strings.Join(names, ",touch ")))
	x.ana.Wait("document.querySelector('#inbox-new button').hidden && !document.querySelector('#inbox[data-moved]')")
}

// An answer always applies to the row that is pointed at, touched or focused, whatever requests
// arrive meanwhile.
func TestInboxStaysUnderThePointer(t *testing.T) {
	t.Parallel()
	prog := Start(t, Options{Args: []string{"--owner-name", "Ana", "--agent", "script"}})
	b := OpenBrowser(t)
	x := &inbox{t, prog, b.Page(), b.Page(), map[string]string{}, map[string]string{}}
	for _, p := range []*Page{x.ana, x.other} {
		p.look(1440, 900, "light")
		p.SignIn(prog)
	}
	x.asks("one")
	x.ana.Live()
	x.pointer()
	x.answeredElsewhere()
	x.keyboard()
	x.finger()
}

func (x *inbox) pointer() {
	x.shows("one")
	left, top := x.approve("one")
	x.ana.moveMouse(left, top)
	x.asks("two")
	x.ana.WaitText("#inbox-new", "1 new")
	x.ana.Pictures("frozen", "#inbox")
	x.ana.moveMouse(left+1, top)
	x.ana.Do(chromedp.MouseClickXY(left, top))
	x.ran("one", "two")
	x.ana.Says("#inbox .answered", "Answered")
	x.shows("two")
}

// A request answered elsewhere keeps its place and cannot be answered.
func (x *inbox) answeredElsewhere() {
	left, top := x.approve("two")
	x.ana.moveMouse(left, top)
	before := Eval[[]float64](x.ana, placesOfRows)
	x.other.Open(x.chats["two"])
	x.other.Click(".approval button[data-kind=approve]")
	x.ana.Says("#inbox .answered", "No longer waiting")
	if after := Eval[[]float64](x.ana, placesOfRows); fmt.Sprint(before) != fmt.Sprint(after) {
		x.Errorf("the rows moved: %v, then %v", before, after)
	}
	if !Eval[bool](x.ana, "[...document.querySelectorAll('.answered button[name]')].every(b => b.disabled)") {
		x.Error("it can be answered again")
	}
	x.ana.Pictures("answered", "#inbox .answered")
	x.ran("two")
	x.ana.moveMouse(5, 5)
	x.ana.Wait("!document.querySelector('#inbox .approval')")
}

const placesOfRows = "[...document.querySelectorAll('#inbox .inrow')].flatMap(r => { const b = " +
	"r.getBoundingClientRect(); return [b.top, b.height]; })"

// The focus also freezes the list; the pill shows new requests.
func (x *inbox) keyboard() {
	x.asks("three")
	x.shows("three")
	x.ana.Press("\t")
	Eval[any](x.ana, row("three")+".querySelector('.ask-short [data-kind=approve]').focus()")
	x.asks("four")
	x.ana.WaitText("#inbox-new", "1 new")
	x.ana.Press("\r")
	x.ran("three", "four")
	x.ana.Wait("document.activeElement.matches('.inlink')")
	x.ana.Click("#inbox-new button")
	x.shows("four")
}

// A finger freezes the list until it is lifted.
func (x *inbox) finger() {
	x.ana.look(390, 844, "light")
	left, top := x.approve("four")
	x.ana.touch("touchStart", &input.TouchPoint{X: left, Y: top})
	x.asks("five")
	x.ana.WaitText("#inbox-new", "1 new")
	x.ana.touch("touchEnd")
	x.ran("four", "five")
	x.ana.Wait("document.querySelectorAll('#inbox .approval').length === 1")
	x.ana.Says("#inbox .approval:not(.answered)", "touch five")
}
