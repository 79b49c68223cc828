package host

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ahphub/ahphub/hub"
	"github.com/ahphub/ahphub/hub/access"
	"github.com/ahphub/ahphub/hub/ahp"
	"github.com/ahphub/ahphub/hub/host/core"
	"github.com/ahphub/ahphub/hub/host/files"
	"github.com/ahphub/ahphub/hub/host/hosttest"
)

var ben = access.Principal{ID: "person:ben", Name: "Ben", Role: access.RoleMember}

// outside creates a directory and a file outside every session.
func (w *world) outside() (dir string, file ahp.URI) {
	w.t.Helper()
	dir, err := filepath.EvalSymlinks(w.t.TempDir())
	w.must(err)
	path := filepath.Join(dir, "notes.txt")
	w.must(os.WriteFile(path, []byte("notes"), 0o600))
	return dir, core.FileURI(path)
}

// ask requests files, and returns a channel for the result.
func (w *world) ask(ctx context.Context, c core.Caller, uri ahp.URI, write bool) <-chan error {
	w.t.Helper()
	told := make(chan error, 1)
	go func() {
		_, err := w.host.Files.ResourceRequest(ctx, c, ahp.ResourceRequestParams{Channel: ahp.RootURI, URI: uri,
			Write: &write})
		told <- err
	}()
	synctest.Wait()
	return told
}

// open returns the only open request.
func (w *world) open() files.FileAsk {
	w.t.Helper()
	asks := w.host.Files.FileAsks()
	if len(asks) != 1 {
		w.t.Fatalf("%d questions wait: %+v", len(asks), asks)
	}
	return asks[0]
}

func (w *world) answer(grant bool) {
	w.t.Helper()
	_, err := w.host.Files.AnswerFileAsk(core.Caller{Principal: owner}, w.open().ID, grant)
	w.must(err)
	synctest.Wait()
}

// told returns the result of a request, and fails if there is none.
func told(t *testing.T, answer <-chan error) error {
	t.Helper()
	select {
	case err := <-answer:
		return err
	default:
		t.Fatal("nobody told them anything")
		return nil
	}
}

func (w *world) refuses(answer <-chan error, why string) {
	w.t.Helper()
	err := told(w.t, answer)
	if code(err) != ahp.CodePermissionDenied || !strings.Contains(err.Error(), why) {
		w.t.Errorf("got %v; want a refusal that says %q", err, why)
	}
}

// wouldOpen returns the request in a refusal that would grant access.
func wouldOpen(err error) *ahp.ResourceRequestParams {
	if e, ok := errors.AsType[*ahp.Error](err); ok {
		if data, ok := e.Data.(ahp.PermissionDeniedErrorData); ok {
			return data.Request
		}
	}
	return nil
}

func (w *world) read(c core.Caller, uri ahp.URI) error {
	_, err := w.host.Files.ResourceRead(w.t.Context(), c, ahp.ResourceReadParams{URI: uri})
	return err
}

func TestTheOwnerGrantsFiles(t *testing.T) { // AHP requirements 180 and 181
	for _, who := range []access.Principal{owner, ben} {
		t.Run(who.Name, func(t *testing.T) {
			inWorld(t, func(w *world) {
				dir, file := w.outside()
				c := core.Caller{Principal: who, ClientID: "editor"}
				err := w.read(c, file)
				wantCode(t, err, ahp.CodePermissionDenied)
				if would := wouldOpen(err); would == nil || would.URI != file || !*would.Read || would.Write != nil {
					t.Errorf("the refusal says that %+v would open it", would)
				}
				answer := w.ask(w.t.Context(), c, file, false)
				a := w.open()
				if a.Name != who.Name || a.Client != "editor" || a.Path != filepath.Join(dir, "notes.txt") || a.Write ||
					a.Dir {
					t.Errorf("the owner sees %+v", a)
				}
				w.answer(true)
				w.must(told(t, answer))
				w.must(w.read(c, file))
				w.must(w.read(core.Caller{Principal: who, ClientID: "another of theirs"}, file))
				w.must(told(t, w.ask(w.t.Context(), c, file, false)))
				wantCode(t, w.read(core.Caller{Principal: driver, ClientID: "editor"}, file), ahp.CodePermissionDenied)
				_, err = w.host.Files.ResourceWrite(w.t.Context(), c, ahp.ResourceWriteParams{URI: file, Data: "x"})
				wantCode(t, err, ahp.CodePermissionDenied)
				if would := wouldOpen(err); would == nil || would.URI != file || !*would.Write {
					t.Errorf("the refusal says that %+v would open it", would)
				}
				if would := wouldOpen(w.read(core.Caller{Principal: driver}, file)); would != nil {
					t.Errorf("a guest is told to ask for %+v", would)
				}
				_, err = w.host.Files.ResourceList(w.t.Context(), c, ahp.ResourceListParams{URI: core.FileURI(dir)})
				wantCode(t, err, ahp.CodePermissionDenied)
			})
		})
	}
}

func TestAGrantedDirectoryIsWritten(t *testing.T) {
	inWorld(t, func(w *world) {
		dir, file := w.outside()
		c := core.Caller{Principal: ben, ClientID: "editor"}
		answer := w.ask(w.t.Context(), c, core.FileURI(dir), true)
		if a := w.open(); !a.Write || !a.Dir {
			t.Errorf("the owner sees %+v", a)
		}
		w.answer(true)
		w.must(told(t, answer))
		sub, moved := core.FileURI(filepath.Join(dir, "sub")), core.FileURI(filepath.Join(dir, "sub", "moved.txt"))
		_, err := w.host.Files.ResourceMkdir(w.t.Context(), c, ahp.ResourceMkdirParams{URI: sub})
		w.must(err)
		_, err = w.host.Files.ResourceWrite(w.t.Context(), c, ahp.ResourceWriteParams{URI: file, Data: "new"})
		w.must(err)
		_, err = w.host.Files.ResourceCopy(w.t.Context(), c, ahp.ResourceCopyParams{Source: file,
			Destination: core.FileURI(filepath.Join(dir, "copy"))})
		w.must(err)
		_, err = w.host.Files.ResourceMove(w.t.Context(), c, ahp.ResourceMoveParams{Source: file, Destination: moved})
		w.must(err)
		w.must(w.read(c, moved))
		_, err = w.host.Files.ResourceList(w.t.Context(), c, ahp.ResourceListParams{URI: sub})
		w.must(err)
		_, err = w.host.Files.ResourceResolve(w.t.Context(), c, ahp.ResourceResolveParams{URI: moved})
		w.must(err)
		_, err = w.host.Files.ResourceDelete(w.t.Context(), c, ahp.ResourceDeleteParams{URI: sub,
			Recursive: ahp.Ptr(true)})
		w.must(err)
		_, err = w.host.Files.ResourceMove(w.t.Context(), c,
			ahp.ResourceMoveParams{Source: core.FileURI(filepath.Join(dir, "copy")),
				Destination: core.FileURI(filepath.Join(w.dir, "mine"))})
		wantCode(t, err, ahp.CodePermissionDenied)

		grants := w.host.Files.FileGrants()
		if len(grants) != 1 || grants[0].Name != "Ben" || grants[0].By != "Ana" || grants[0].Path != dir ||
			grants[0].At.IsZero() {
			t.Fatalf("listed is %+v", grants)
		}
		_, err = w.host.Files.RevokeFiles(c, grants[0].ID)
		wantCode(t, err, ahp.CodePermissionDenied)
		_, err = w.host.Files.RevokeFiles(core.Caller{Principal: owner}, grants[0].ID)
		w.must(err)
		wantCode(t, w.read(c, core.FileURI(filepath.Join(dir, "copy"))), ahp.CodePermissionDenied)
		_, err = w.host.Files.RevokeFiles(core.Caller{Principal: owner}, grants[0].ID)
		wantCode(t, err, ahp.CodeNotFound)
	})
}

func TestGrantsEndWithAccount(t *testing.T) {
	inWorld(t, func(w *world) {
		_, file := w.outside()
		c := core.Caller{Principal: ben, ClientID: "editor"}
		answer := w.ask(w.t.Context(), c, file, true)
		w.answer(true)
		w.must(told(t, answer))
		w.host.Files.RevokeFilesOf(ben.ID)
		wantCode(t, w.read(c, file), ahp.CodePermissionDenied)
		if left := w.host.Files.FileGrants(); len(left) != 0 {
			t.Errorf("left is %+v", left)
		}
	})
}

func TestTheOwnerDeniesFiles(t *testing.T) {
	inWorld(t, func(w *world) {
		_, file := w.outside()
		c := core.Caller{Principal: ben, ClientID: "editor"}
		answer := w.ask(w.t.Context(), c, file, false)
		_, err := w.host.Files.AnswerFileAsk(c, w.open().ID, true)
		wantCode(t, err, ahp.CodePermissionDenied) // Ben may not answer it
		id := w.open().ID
		w.answer(false)
		w.refuses(answer, "declined")
		wantCode(t, w.read(c, file), ahp.CodePermissionDenied)
		_, err = w.host.Files.AnswerFileAsk(core.Caller{Principal: owner}, id, true)
		wantCode(t, err, ahp.CodeNotFound)
		w.refuses(w.ask(w.t.Context(), c, file, false), "a moment ago")
		time.Sleep(files.DeniedAgain)
		again := w.ask(w.t.Context(), c, file, false)
		w.answer(true)
		w.must(told(t, again))
	})
}

func TestUnansweredFileRequest(t *testing.T) {
	var heard []string
	asked := func(_ *hub.Tx, a files.FileAsk) { heard = append(heard, a.Words()) }
	inWorldOf(t, Config{FilesAsked: asked}, func(w *world) {
		_, file := w.outside()
		c := core.Caller{Principal: ben, ClientID: "editor"}
		answer := w.ask(w.t.Context(), c, file, false)
		if len(heard) != 1 || heard[0] != "Ben asks to read notes.txt" {
			t.Errorf("the owner heard %q", heard)
		}
		time.Sleep(files.FileAskFor - time.Second)
		w.open()
		time.Sleep(2 * time.Second)
		w.refuses(answer, "didn't answer in time")

		ctx, gone := context.WithCancel(w.t.Context())
		answer = w.ask(ctx, c, file, false)
		joined := w.ask(w.t.Context(), core.Caller{Principal: ben, ClientID: "another"}, file, false)
		if w.open(); len(heard) != 2 { // equal requests are merged
			t.Errorf("the owner heard %q", heard)
		}
		gone()
		synctest.Wait()
		if err := told(t, answer); err == nil {
			t.Error("who is gone was given files")
		}
		w.answer(true) // the other request still waits
		w.must(told(t, joined))

		ctx, gone = context.WithCancel(w.t.Context())
		answer = w.ask(ctx, c, file, true)
		gone()
		synctest.Wait()
		<-answer
		if left := w.host.Files.FileAsks(); len(left) != 0 {
			t.Errorf("a question stays when who asked is gone: %+v", left)
		}
		answer = w.ask(w.t.Context(), c, file, true)
		w.stop()
		if err := <-answer; err == nil {
			t.Error("a host that stops grants files")
		}
	})
}

func TestFilesAreAskedForWithinLimits(t *testing.T) {
	inWorld(t, func(w *world) {
		dir, _ := w.outside()
		n := 0
		ask := func(c core.Caller) <-chan error {
			n++
			path := filepath.Join(dir, fmt.Sprint(n))
			w.must(os.WriteFile(path, nil, 0o600))
			return w.ask(w.t.Context(), c, core.FileURI(path), false)
		}
		person := func(i int) access.Principal {
			return access.Principal{ID: fmt.Sprint("person:", i), Name: "Ben", Role: access.RoleMember}
		}
		for i := range files.MostFileAsks {
			ask(core.Caller{Principal: person(i / files.MostFileAsksPerson),
				ClientID: fmt.Sprint(i / files.MostFileAsksClient)})
		}
		if got := len(w.host.Files.FileAsks()); got != files.MostFileAsks {
			t.Fatalf("%d questions wait", got)
		}
		w.refuses(ask(core.Caller{Principal: person(0), ClientID: "0"}), "Wait until the owner has answered")
		w.refuses(ask(core.Caller{Principal: person(0), ClientID: "new"}), "Wait until the owner has answered")
		w.refuses(ask(core.Caller{Principal: person(9), ClientID: "new"}), "too many requests")
		time.Sleep(files.FileAskFor)
		synctest.Wait()
		if left := w.host.Files.FileAsks(); len(left) != 0 {
			t.Errorf("%d questions stay", len(left))
		}
	})
}

// Requests that no grant can open are refused at once, without asking the owner.
func TestTheOwnerIsNotAskedFor(t *testing.T) {
	inWorld(t, func(w *world) {
		dir, file := w.outside()
		data := w.host.cfg.DataDir
		w.must(os.WriteFile(filepath.Join(data, "token"), []byte("secret"), 0o600))
		link := filepath.Join(dir, "link")
		w.must(os.Symlink(filepath.Join(data, "token"), link))
		mine := core.Caller{Principal: owner, ClientID: "editor"}
		guest := driver
		guest.Link = "link"
		member := ben
		member.Link, member.Session = "link", session
		for name, c := range map[string]struct {
			who core.Caller
			uri ahp.URI
		}{
			"the data directory": {mine, core.FileURI(data)},
			"below it":           {mine, core.FileURI(filepath.Join(data, "token"))},
			"what holds it":      {mine, core.FileURI(filepath.Dir(data))},
			"a link to it":       {mine, core.FileURI(link)},
			"everything":         {mine, "file:///"},
			"what is not there":  {mine, core.FileURI(filepath.Join(dir, "nowhere"))},
			"a version":          {mine, "ahp-blob:/x/y"},
			"no path":            {mine, "file:notes.txt"},
			"another machine":    {mine, "file://elsewhere/etc/hosts"},
			"another scheme":     {mine, "https://example.org/"},
			"encoded slashes":    {mine, "file:///etc%2fhosts"},
			"a guest":            {core.Caller{Principal: guest, ClientID: "g"}, file},
			"by a link":          {core.Caller{Principal: member, ClientID: "m"}, file},
			"nobody":             {core.Caller{}, file},
		} {
			w.refuses(w.ask(w.t.Context(), c.who, c.uri, false), "")
			if asks := w.host.Files.FileAsks(); len(asks) != 0 {
				t.Fatalf("%s: the owner is asked %+v", name, asks)
			}
		}
		if _, err := os.Stat("/proc/self/environ"); err == nil {
			w.refuses(w.ask(w.t.Context(), mine, "file:///proc/self/environ", false), "holds no files")
		}
	})
}

func TestFilesAreAskedForByTheirRealPath(t *testing.T) {
	inWorld(t, func(w *world) {
		dir, file := w.outside()
		other, secret := w.outside()
		link := filepath.Join(other, "link")
		w.must(os.Symlink(filepath.Join(dir, "notes.txt"), link))
		c := core.Caller{Principal: ben, ClientID: "editor"}
		answer := w.ask(w.t.Context(), c, core.FileURI(link), false)
		if a := w.open(); a.Path != filepath.Join(dir, "notes.txt") || a.URI != core.FileURI(link) {
			t.Errorf("the owner sees %+v", a)
		}
		w.answer(true)
		w.must(told(t, answer))
		w.must(w.read(c, core.FileURI(link)))
		w.must(w.read(c, file))
		w.must(os.Remove(link))
		w.must(os.Symlink(filepath.Join(other, "notes.txt"), link))
		wantCode(t, w.read(c, core.FileURI(link)), ahp.CodePermissionDenied)
		wantCode(t, w.read(c, secret), ahp.CodePermissionDenied)
	})
}

// A watch of granted files ends with the grant (AHP requirement 184).
func TestAWatchEndsWithItsGrant(t *testing.T) {
	w := newWorld(t, Config{}, hub.Config{})
	defer w.stop()
	dir, file := w.outside()
	c := w.connect(owner, "ana-1").caller
	answer := make(chan error, 1)
	go func() {
		_, err := w.host.Files.ResourceRequest(w.t.Context(), c, ahp.ResourceRequestParams{URI: core.FileURI(dir)})
		answer <- err
	}()
	hosttest.Eventually(t, "the question", func() bool { return len(w.host.Files.FileAsks()) == 1 })
	_, err := w.host.Files.AnswerFileAsk(c, w.host.Files.FileAsks()[0].ID, true)
	w.must(err)
	w.must(<-answer)
	watch, err := w.host.Files.CreateResourceWatch(w.t.Context(), c,
		ahp.CreateResourceWatchParams{URI: core.FileURI(dir)})
	w.must(err)
	before := w.hub.Seq()
	w.must(os.WriteFile(filepath.Join(dir, "notes.txt"), []byte("changed"), 0o600))
	hosttest.Eventually(t, "a change", func() bool { return w.hub.Seq() > before })
	_, err = w.host.Files.RevokeFiles(c, w.host.Files.FileGrants()[0].ID)
	w.must(err)
	wantCode(t, w.read(c, file), ahp.CodePermissionDenied)
	hosttest.Eventually(t, "the end of the watch", func() bool {
		w.must(os.WriteFile(filepath.Join(dir, "notes.txt"), []byte(time.Now().String()), 0o600))
		_, open := w.hub.Info(watch.Channel)
		return !open
	})
}
