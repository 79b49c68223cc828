package e2e

import (
	"context"
	"io"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ahphub/ahphub/e2e/peer"
	"github.com/ahphub/ahphub/hub/ahp"
	"github.com/ahphub/ahphub/hub/host/changes"
	"github.com/ahphub/ahphub/hub/host/core"
)

// guestFiles are the files of a repository, committed and not. Each contains the word.
var guestFiles = map[string]string{
	"tracked.txt": "committed", "sub/tracked.txt": "committed", ".env.example": "committed",
	".gitignore":    "committed",
	"untracked.txt": "lies there", "build/ignored.txt": "ignored", ".env": "private", "keys/id_ed25519": "private",
	"tls.pem": "private", ".aws/credentials": "private",
}

// guestRepository creates a repository with these files, and links to some of them.
func guestRepository(t *testing.T) (dir string) {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	must(t, err)
	for name, kind := range guestFiles {
		path := filepath.Join(dir, name)
		content := canary + " of " + name + ", " + kind + "\n"
		if name == ".gitignore" {
			content = "build/\n"
		}
		must(t, os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, []byte(content), 0o600))
	}
	must(t, os.Symlink("untracked.txt", filepath.Join(dir, "link.txt")))
	must(t, os.Symlink("tls.pem", filepath.Join(dir, "pem.txt")))
	for _, args := range [][]string{{"init", "-q"},
		{"add", "tracked.txt", "sub", ".env.example", ".gitignore", "link.txt", "pem.txt"},
		{"-c", "user.name=Ana", "-c", "user.email=ana@example.com", "commit", "-q", "-m", "All"}} {
		cmd := exec.Command("git", append([]string{"-C", dir}, args...)...)
		cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL="+os.DevNull, "GIT_CONFIG_SYSTEM="+os.DevNull)
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("git %v: %v\n%s", args, err, out)
		}
	}
	return dir
}

// reads reports whether a client can read a path.
func reads(t *testing.T, ctx context.Context, p *peer.Peer, path string) bool {
	t.Helper()
	var got ahp.ResourceReadResult
	err := p.Call(ctx, "resourceRead", map[string]any{"channel": ahp.RootURI, "uri": fileURI(path)}, &got)
	if err == nil && got.Data == "" {
		t.Errorf("%s is read as nothing", path)
	}
	return err == nil
}

// A guest sees tracked files and those that the session changed. A link with all files also shows
// the others, but no link shows ignored files, keys, environments and git's own files: not by
// reading, nor in changes, patches, and completions.
func TestGuestSeesTrackedAndChangedFilesAlone(t *testing.T) {
	t.Parallel()
	prog := Start(t, Options{Args: []string{"--agent", "script"}})
	ctx, cancel := context.WithTimeout(t.Context(), 3*patience)
	defer cancel()
	owner := dialHeard(t, ctx, prog, prog.Token(), &heard{})
	web, _ := signIn(t, prog.SignIn())
	dir := guestRepository(t)
	session := newSessionIn(t, ctx, owner, dir)
	short := core.ShortID(session)
	orders := []string{"write changed.txt the agent wrote this", "write .env.local SECRET=1",
		"write .env.example SECRET=2", "write build/out.txt built"}
	sayIn(t, ctx, owner, session, strings.Join(orders, "\n"))

	shown := map[string]bool{"tracked.txt": true, "sub/tracked.txt": true, "changed.txt": true}
	names := []string{".git/config", ".git/HEAD", "link.txt", "pem.txt", ".env.local", "build/out.txt", "changed.txt",
		"nothing.txt"}
	for name := range guestFiles {
		names = append(names, name)
	}
	driver := url.Values{"role": {"driver"}, "expires": {"24h"}, "prompt": {"on"}}
	plain := shareBy(t, web, prog, short, driver)
	driver.Set("allfiles", "on")
	all := shareBy(t, web, prog, short, driver)
	for link, more := range map[string]map[string]bool{plain: {}, all: {"untracked.txt": true, "link.txt": true}} {
		guest := dialHeard(t, ctx, prog, link, &heard{})
		for _, name := range names {
			want := shown[name] || more[name] || name == ".gitignore"
			if got := reads(t, ctx, guest, filepath.Join(dir, name)); got != want {
				t.Errorf("a guest reads %s: %v, want %v (all files: %v)", name, got, want, len(more) > 0)
			}
		}
		offers := offered(t, ctx, guest, session)
		for _, name := range []string{"untracked.txt", "changed.txt", "tracked.txt", ".env", "id_ed25519", "ignored",
			"tls.pem"} {
			want := shown[name] || more[name]
			if got := strings.Contains(offers, "@"+name); got != want {
				t.Errorf("a guest is offered %s: %v, want %v in %q", name, got, want, offers)
			}
		}
	}
	editsOf(t, prog, owner, web, session, all)
	changesOf(t, ctx, prog, owner, session, plain, map[string]bool{"changed.txt": true})
	changesOf(t, ctx, prog, owner, session, all, map[string]bool{"changed.txt": true, "untracked.txt": true})
}

// sayIn has the script agent do something in a session's chat, and waits for the end.
func sayIn(t *testing.T, ctx context.Context, owner *peer.Peer, session ahp.URI, orders string) {
	t.Helper()
	h := &halves{t: t, ctx: ctx, owner: owner, session: session, short: core.ShortID(session)}
	h.follow(session)
	state := func() *ahp.SessionState { s, _ := owner.State(session).(*ahp.SessionState); return s }
	h.until("its default chat", func() bool { return state() != nil && state().DefaultChat != "" })
	h.follow(state().DefaultChat)
	h.do(session, &ahp.SessionConfigChangedAction{Config: ahp.Meta{"approval": []byte(`"auto"`)}})
	h.say(state().DefaultChat, orders)
}

// editsOf checks as a guest what the agent's calls wrote, once the owner has seen it.
func editsOf(t *testing.T, prog *Program, owner *peer.Peer, web *http.Client, session ahp.URI, link string) {
	t.Helper()
	s, _ := owner.State(session).(*ahp.SessionState)
	chat, _ := owner.State(s.DefaultChat).(*ahp.ChatState)
	guest, found := cookieFor(t, prog, link), 0
	for _, p := range chat.Turns[len(chat.Turns)-1].ResponseParts {
		call, ok := p.Value.(*ahp.ToolCallResponsePart)
		if !ok {
			continue
		}
		done, ok := call.ToolCall.Value.(*ahp.ToolCallCompletedState)
		if !ok {
			continue
		}
		at := prog.URL + "/s/" + core.ShortID(session) + "/c/" + strings.TrimPrefix(s.DefaultChat, "ahp-chat:/") +
			"/edits/" + done.ToolCallID
		if theirs := body(t, web, at); strings.Contains(theirs, "SECRET") {
			found++
		}
		if strings.Contains(body(t, guest, at), "SECRET") {
			t.Errorf("a guest sees what %s wrote into .env.local", done.ToolCallID)
		}
	}
	if found == 0 {
		t.Error("the owner does not see what the agent wrote: this test looks in the wrong places")
	}
}

// offered returns the completions of an @ in a session.
func offered(t *testing.T, ctx context.Context, p *peer.Peer, session ahp.URI) string {
	t.Helper()
	var got ahp.CompletionsResult
	params := map[string]any{"channel": session, "kind": "userMessage", "text": "@", "offset": 1}
	must(t, p.Call(ctx, "completions", params, &got))
	var b strings.Builder
	for _, item := range got.Items {
		b.WriteString(item.InsertText)
	}
	return b.String()
}

// changesOf checks a guest's view of uncommitted changes: in the protocol, on the page and in the
// patch.
func changesOf(t *testing.T, ctx context.Context, prog *Program, owner *peer.Peer, session ahp.URI, link string,
	shown map[string]bool) {
	t.Helper()
	uri := changes.URI(session, "uncommitted", "")
	ready := func(p *peer.Peer) *ahp.ChangesetState {
		must(t, p.Subscribe(ctx, uri))
		var s *ahp.ChangesetState
		must(t, p.Wait(ctx, func() bool {
			s, _ = p.State(uri).(*ahp.ChangesetState)
			return s != nil && s.Status == ahp.ChangesetStatusReady
		}))
		return s
	}
	guest := dialHeard(t, ctx, prog, link, &heard{})
	theirs := ready(guest)
	in, at := string(marshal(t, theirs)), prog.URL+"/s/"+core.ShortID(session)+"/changes?scope=uncommitted"
	page, patch := body(t, cookieFor(t, prog, link), at), body(t, cookieFor(t, prog, link), at+"&as=patch")
	read := func(uri ahp.URI) error {
		return guest.Call(ctx, "resourceRead", map[string]any{"channel": ahp.RootURI, "uri": uri}, nil)
	}
	for _, f := range ready(owner).Files {
		name := filepath.Base(f.ID)
		if got := strings.Contains(in, f.ID+`"`); got != shown[name] {
			t.Errorf("the changes that a guest follows have %s: %v", name, got)
		}
		if got := strings.Contains(page, name); got != shown[name] {
			t.Errorf("the page that a guest sees has %s: %v", name, got)
		}
		if got := strings.Contains(patch, "/"+name); got != shown[name] {
			t.Errorf("the patch that a guest gets has %s: %v", name, got)
		}
		version := f.Edit.After.Content.URI
		if err := read(version); (err == nil) != shown[name] {
			t.Errorf("a guest reads the version of %s: %v", name, err)
		}
		_, query, _ := strings.Cut(version, "?")
		if read("ahp-blob:/tracked.txt?"+query) == nil {
			t.Errorf("a guest reads the version of %s under another name", name)
		}
	}
}

func body(t *testing.T, c *http.Client, address string) string {
	t.Helper()
	res, err := c.Get(address)
	must(t, err)
	defer res.Body.Close()
	b, err := io.ReadAll(res.Body)
	must(t, err)
	return string(b)
}

// In a session in the home directory, guests read no files; its owner is warned when starting and
// sharing it, and on each of its pages.
func TestHomeIsNotShownToGuests(t *testing.T) {
	t.Parallel()
	prog, home := startAtHome(t)
	ctx, cancel := context.WithTimeout(t.Context(), 2*patience)
	defer cancel()
	owner := dialHeard(t, ctx, prog, prog.Token(), &heard{})
	web, _ := signIn(t, prog.SignIn())
	must(t, os.WriteFile(filepath.Join(home, "notes.txt"), []byte("notes"), 0o600))
	project := filepath.Join(home, "project")
	must(t, os.Mkdir(project, 0o700), os.WriteFile(filepath.Join(project, "notes.txt"), []byte("notes"), 0o600))
	const warning, mark = "guests see no files", `class="warnmark"`
	for dir, wide := range map[string]bool{home: true, filepath.Dir(home): true, "/": true, project: false} {
		session := newSessionIn(t, ctx, owner, dir)
		short := core.ShortID(session)
		link := shareBy(t, web, prog, short, url.Values{"role": {"viewer"}, "expires": {"24h"}, "allfiles": {"on"}})
		guest := dialHeard(t, ctx, prog, link, &heard{})
		if got := reads(t, ctx, guest, filepath.Join(project, "notes.txt")); got == wide {
			t.Errorf("in a session at %s a guest reads a file: %v", dir, got)
		}
		for path, word := range map[string]string{"/s/" + short: mark, "/s/" + short + "/share": warning,
			"/new?dir=" + url.QueryEscape(dir): warning} {
			if got := strings.Contains(body(t, web, prog.URL+path), word); got != wide {
				t.Errorf("%s warns: %v, want %v", path, got, wide)
			}
		}
	}
}
