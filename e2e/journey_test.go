package e2e

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"

	"github.com/ahphub/ahphub/hub/ahp"
)

// journey is the main use of the program, by two people and a protocol client.
type journey struct {
	*testing.T
	program        *Program
	repo           string
	ana, ben       *Page
	watcher        *watcher
	session, chat  ahp.URI
	chatURL        string
	reviewURL      string
	sizes          string // "+n −m" of the first turn
	question, note string // their comments on lines
}

// A team reviews an agent's changes in a real repository, from signing in to recovering from a
// crash of the host.
func TestJourney(t *testing.T) {
	t.Parallel()
	browser := OpenBrowser(t)
	j := &journey{T: t, program: Start(t, Options{Args: []string{"--owner-name", "Ana"}}), repo: greetRepository(t),
		question: "Does every caller know the **language**?", note: "Italian is missing here."}
	j.ana, j.ben = browser.Page(), browser.Page()
	t.Cleanup(func() {
		if t.Failed() {
			j.ana.Shot("failed-ana")
			j.ben.Shot("failed-ben")
		}
	})
	j.ana.look(1440, 900, "light")
	j.ben.look(1440, 900, "light")

	j.signIn()
	j.startSession()
	j.rename()
	j.approve()
	j.answerInTerminal()
	j.endOfTurn()
	j.readChanges()
	j.comment()
	j.share()
	j.talk()
	j.markReviewed()
	j.sendToAgent()
	j.crash()
	j.goOn()

	j.watcher.check()
	want := []ahp.ChannelKind{ahp.ChannelAnnotations, ahp.ChannelChangeset, ahp.ChannelChat, ahp.ChannelRoot,
		ahp.ChannelSession, ahp.ChannelTerminal}
	slices.Sort(want)
	if got := j.watcher.kinds(); !slices.Equal(got, want) {
		t.Errorf("mirrored %v, want %v", got, want)
	}
	j.ana.leave()
	j.ben.leave()
	j.program.Stop()
	if log := j.program.Log(); strings.Contains(log, "DATA RACE") || strings.Contains(log, "panic") {
		t.Errorf("the program's log:\n%s", log)
	}
}

func (j *journey) signIn() {
	j.ana.Open(j.program.Lines["sign_in"])
	j.ana.Wait("location.pathname === '/'")
	j.ana.Live()
	j.ana.WaitText("#inbox", "No sessions yet")
	j.watcher = watch(j.T, j.program, "watcher")
}

// startSession enters a directory and a first message.
func (j *journey) startSession() {
	j.ana.Click("#inbox .empty a.btn")
	j.ana.Wait("location.pathname === '/new' && document.readyState === 'complete'")
	j.ana.Fill("#dir", j.repo)
	j.ana.Click("input[name=agent][value=shell]")
	j.ana.Fill("#message", greetEdit)
	j.ana.Pictures("new", "form")
	j.ana.Press("\r", chromedp.ModifierCtrl)
	j.ana.Wait("location.pathname.startsWith('/s/')")
	j.ana.Live()
	j.chatURL = Eval[string](j.ana, "location.pathname")

	j.session = j.watcher.onlySession()
	j.watcher.mirror(j.session)
	j.chat = j.watcher.session(j.session).DefaultChat
	j.watcher.mirror(j.chat)
	j.watcher.mirror(j.session + "/annotations")
}

// rename gives the session a readable title.
func (j *journey) rename() {
	const title = "Greet people in their language"
	j.ana.Click("details.menu > summary")
	j.ana.Fill("#new-title", title)
	j.ana.Press("\r")
	j.ana.Says("#title", title)
	j.ana.Says("#rail .rail-item", title)
	j.watcher.wait("the title", func() bool { return j.watcher.session(j.session).Title == title })
}

// approve reads the card, also in the inbox, and approves the command.
func (j *journey) approve() {
	j.ana.WaitText(".approval .cmd", "cat > word.go")
	j.ana.WaitText(".approval", j.repo)
	j.ana.WaitText("#attention", "1 approval")
	j.ana.Pictures("approval", ".approval")
	j.ana.Open(j.program.URL + "/")
	j.ana.Live()
	j.ana.Click("#inbox [aria-label='Needs you'] .approval summary")
	j.ana.WaitText("#inbox .approval", "word.go")
	j.ana.Pictures("inbox", "#inbox")
	j.ana.Open(j.program.URL + j.chatURL)
	j.ana.Live()
	j.ana.Click(".approval button[data-kind=approve]")
	j.ana.Wait("!document.querySelector('.approval') && document.querySelector('.term-ref a')")
	j.ana.WaitText("#status", "Running")
}

// answerInTerminal sees the command wait on its terminal, and answers there.
func (j *journey) answerInTerminal() {
	j.watcher.wait("the terminal", func() bool { return len(j.watcher.root().Terminals) == 1 })
	terminal := j.watcher.root().Terminals[0].Resource
	j.watcher.mirror(terminal)
	j.watcher.wait("the command's question", func() bool {
		return strings.Contains(screen(j.watcher.State(terminal)),
			"Run the tests?")
	})

	j.ana.Unfold(".tool details.fold")
	j.ana.Click(".term-ref a")
	j.ana.Wait("document.querySelector('.termframe')")
	j.ana.Live()
	j.ana.Wait(glyphs + ".includes('Run the tests?')")
	j.ana.Click(".termstate button[value=me]")
	j.ana.Wait("document.querySelector('.termframe').contentDocument.getElementById('term').xterm.options.disableStdin === false")
	j.ana.Click(".termframe")
	j.ana.Press("yes\r")
	j.watcher.wait("the tests", func() bool {
		return strings.Contains(screen(j.watcher.State(terminal)),
			"PASS: TestHello")
	})
	j.ana.Wait(glyphs + ".includes('PASS: TestHello')")
	j.ana.Pictures("terminal", ".termstate")
}

// glyphs returns the text on the screen of the terminal's frame.
const glyphs = `((t) => t ? Array.from({length: t.buffer.active.length}, (_, i) => t.buffer.active.getLine(i).translateToString(true)).join('\n') : '')(document.querySelector('.termframe')?.contentDocument?.getElementById('term')?.xterm)`

// endOfTurn finds the chip with the turn's changes.
func (j *journey) endOfTurn() {
	j.ana.Follow(".tabs a[data-go='g c']")
	j.ana.WaitText(".foot .chip", "in 4 files")
	chip := squeeze(j.ana.Text(".foot .chip"))
	var add, del int
	if n, err := fmt.Sscanf(chip, "+%d −%d in 4 files", &add, &del); n != 2 || add < 10 || del < 3 {
		j.Fatalf("the chip says %q (%v)", chip, err)
	}
	j.sizes = fmt.Sprintf("+%d −%d", add, del)
	if out := j.ana.Text(".tool"); !strings.Contains(out, "approved by") {
		j.Errorf("the command's line does not say who approved it: %q", out)
	}
	j.ana.WaitText("#counts", fmt.Sprintf("+%d", add))
	j.ana.Says("#pane", "word.go")
	j.ana.Pictures("chat", ".foot")
}

// readChanges views the catalogue: this turn, the session, uncommitted changes; unified and split.
func (j *journey) readChanges() {
	j.ana.Follow(".foot .chip")
	for _, scope := range []string{"", "session", "uncommitted"} {
		if scope != "" {
			j.ana.Click("#scopes > summary")
			j.ana.Click("#scopes a[data-scope=" + scope + "]")
			j.ana.Wait("location.search.includes('scope=" + scope + "')")
			j.ana.Live()
		}
		j.ana.Wait("document.querySelectorAll('#files .file').length === 4 && document.querySelectorAll('#tree " +
			"li[data-path]').length === 4")
		j.ana.WaitText("#scope-now", strings.ReplaceAll(j.sizes, " ", " "))
	}
	j.ana.Click("#scopes > summary")
	j.ana.Click("#scopes a[data-scope=session]")
	j.ana.Wait("location.search.includes('scope=session')")
	j.ana.Live()
	j.reviewURL = Eval[string](j.ana, "location.pathname + location.search")
	j.mirrorChanges()

	j.ana.Wait("document.querySelector('" + file("greet.go") + " .r.a')")
	j.seeRows("unified")
	j.ana.Press("m")
	j.ana.Wait("document.querySelector('.file-body.split')")
	j.ana.Live()
	j.seeRows("split")
	j.ana.Pictures("split", ".file-body")
	j.ana.Live()
	if Eval[bool](j.ana, "!!document.querySelector('.file-body.split')") { // a phone screenshot switched to unified
		j.ana.Press("m")
	}
	j.ana.Wait("document.querySelector('.file-body:not(.split)')")
	j.ana.Live()
}

// mirrorChanges subscribes to every changeset of the catalogue.
func (j *journey) mirrorChanges() {
	turn := j.watcher.chat(j.chat).Turns[0].ID
	expand := strings.NewReplacer("{turnId}", turn, "{originalTurnId}", turn, "{modifiedTurnId}", turn)
	for _, c := range j.watcher.session(j.session).Changesets {
		uri := expand.Replace(c.URITemplate)
		j.watcher.mirror(uri)
		j.watcher.wait(uri, func() bool {
			s, ok := j.watcher.State(uri).(*ahp.ChangesetState)
			return ok && s.Status == ahp.ChangesetStatusReady
		})
	}
}

// file returns the selector of a file in the review.
func file(path string) string { return fmt.Sprintf(`#files .file[data-path="%s"]`, path) }

// seeRows checks what makes a diff readable.
func (j *journey) seeRows(view string) {
	for what, expression := range map[string]string{
		"an added row":  "f.querySelector('.r.a')",
		"a removed row": "f.querySelector('.r.d')",
		"line numbers": "[...f.querySelectorAll('.r')].some(r => getComputedStyle(r, " +
			"'::before').content.match(/[0-9]|attr/))",
		"syntax colours": "new Set([...f.querySelectorAll('.r *')].map(e => getComputedStyle(e).color)).size > 2",
		"a changed word": "[...f.querySelectorAll('.r.a *')].some(e => getComputedStyle(e).backgroundColor !== " +
			"'rgba(0, 0, 0, 0)')",
		"the code itself": "f.innerText.includes('Word(lang)')",
	} {
		if !Eval[bool](j.ana, "((f) => !!("+expression+"))(document.querySelector('"+file("greet.go")+"'))") {
			j.Errorf("%s: %s is missing", view, what)
		}
	}
}
