package e2e

import (
	"context"
	"net/url"
	"os"
	"path/filepath"
	"testing"

	"github.com/chromedp/chromedp"

	"github.com/ahphub/ahphub/e2e/peer"
	"github.com/ahphub/ahphub/hub/ahp"
)

// asking has a client request files and wait.
func asking(t *testing.T, ctx context.Context, p *peer.Peer, path string, write bool) <-chan error {
	t.Helper()
	told := make(chan error, 1)
	go func() {
		told <- p.Call(ctx, "resourceRequest", ahp.ResourceRequestParams{Channel: ahp.RootURI, URI: fileURI(path),
			Read: ahp.Ptr(true), Write: &write}, nil)
	}()
	return told
}

func fileURI(path string) ahp.URI { return (&url.URL{Scheme: "file", Path: path}).String() }

// A client requests files outside of all sessions; the owner sees that in the inbox and on every
// other page, allows one, denies another, and revokes a grant. All of it works without JavaScript.
func TestOwnerGrantsFilesToClient(t *testing.T) {
	t.Parallel()
	prog := Start(t, Options{Args: []string{"--agent", "script", "--owner-name", "Ana"}})
	ctx, cancel := context.WithTimeout(t.Context(), 3*patience)
	defer cancel()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	notes, shared := filepath.Join(dir, "notes.txt"), filepath.Join(dir, "shared")
	for _, err := range []error{os.WriteFile(notes, []byte("remember the milk"), 0o600), os.Mkdir(shared, 0o755)} {
		if err != nil {
			t.Fatal(err)
		}
	}
	owner, plain := OpenBrowser(t).Page(), OpenBrowser(t).Page()
	owner.SignIn(prog)
	invitation := inviteBy(owner, prog, "member", "Ben")
	ben := OpenBrowser(t).Page()
	accept(ben, invitation, "Ben", memberWords)
	ben.Open(prog.URL + "/account")
	ben.Do(chromedp.SetValue(`form[action="/account/tokens"] input[name=name]`, "the editor"))
	ben.Click(`form[action="/account/tokens"] .btn`)
	ben.Wait(`document.querySelector('#made')?.value`)
	editor, err := peer.Dial(ctx, prog.AHP,
		peer.Options{Token: Eval[string](ben, `document.querySelector('#made').value`), ClientID: "editor-of-ben"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = editor.Close() })
	if _, err := editor.Initialize(ctx, ahp.RootURI); err != nil {
		t.Fatal(err)
	}
	read := func() (out ahp.ResourceReadResult, err error) {
		err = editor.Call(ctx, "resourceRead", ahp.ResourceReadParams{Channel: ahp.RootURI, URI: fileURI(notes)}, &out)
		return out, err
	}
	if out, err := read(); err == nil {
		t.Fatalf("read %q before anybody allowed it", out.Data)
	}

	owner.Open(prog.URL + "/automations")
	owner.Live()
	mayRead := asking(t, ctx, editor, notes, false)
	owner.Says("#rail-list", "Ben: notes.txt")
	owner.Wait("document.title.startsWith('(1)')")
	owner.Follow("#rail-list .rail-item")
	mayWrite := asking(t, ctx, editor, shared, true)
	owner.Says("#inbox", shared)
	owner.Says("#inbox", "editor-of-ben")
	owner.Wait("document.querySelectorAll('#inbox form.lone').length === 2 && document.title.startsWith('(2)')")
	owner.Pictures("asked", "#inbox form.lone")
	owner.accessible("files asked for", false)
	owner.look(320, 640, "dark")
	owner.accessible("files asked for on a phone", true)
	owner.look(1440, 900, "light")
	owner.Click("#inbox li:first-child button[value=allow]")
	if err := <-mayRead; err != nil {
		t.Fatalf("the owner allowed it, and the client was told %v", err)
	}
	if out, err := read(); err != nil || out.Data != "remember the milk" {
		t.Errorf("the client read %q, %v", out.Data, err)
	}
	owner.moveMouse(5, 5)
	owner.Wait("document.querySelectorAll('#inbox form.lone').length === 1")

	plain.SignIn(prog)
	plain.noScript()
	plain.Open(prog.URL + "/")
	plain.Click("#inbox button[value=deny]")
	if err := <-mayWrite; err == nil {
		t.Error("the owner denied it, and the client was told that it may write")
	}
	owner.Wait("!document.querySelector('#inbox form.lone')")
	write := ahp.ResourceWriteParams{Channel: ahp.RootURI, URI: fileURI(filepath.Join(shared, "a")), Data: "x"}
	if err := editor.Call(ctx, "resourceWrite", write, nil); err == nil {
		t.Error("the client writes what the owner denied")
	}

	owner.Open(prog.URL + "/people")
	owner.Pictures("granted", ".path")
	owner.accessible("files granted", false)
	plain.Open(prog.URL + "/people")
	plain.Click(`form[action$="/revoke"] .btn.bad`)
	plain.Wait("document.getElementById('main') && document.readyState === 'complete' && " +
		"!document.querySelector('.path')")
	if out, err := read(); err == nil {
		t.Errorf("read %q after it was revoked", out.Data)
	}
	plain.Open(prog.URL + "/audit")
	for _, part := range []string{"asked for files", "answered a request for files: allowed Ben to read " + notes,
		"denied Ben to write " + shared, "revoked file access"} {
		plain.Says("main", part)
	}
}
