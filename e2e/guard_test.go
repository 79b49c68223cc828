package e2e

import (
	"context"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/uuid"

	"github.com/ahphub/ahphub/e2e/peer"
	"github.com/ahphub/ahphub/hub/ahp"
	"github.com/ahphub/ahphub/hub/host/core"
)

// startAtHome starts the program like most people: in their home, which contains the data
// directory.
func startAtHome(t *testing.T) (prog *Program, home string) {
	t.Helper()
	home, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	data := filepath.Join(home, ".local", "share", "ahphub")
	env := []string{"HOME=" + home}
	return Start(t, Options{Dir: home, Data: data, Args: []string{"--agent", "script"}, Env: env}), home
}

// newSessionIn creates a session in a directory.
func newSessionIn(t *testing.T, ctx context.Context, owner *peer.Peer, dir string) ahp.URI {
	t.Helper()
	session := "ahp-session:/" + uuid.NewString()
	if err := createIn(ctx, owner, session, dir); err != nil {
		t.Fatal(err)
	}
	return session
}

func createIn(ctx context.Context, owner *peer.Peer, session ahp.URI, dir string) error {
	params := map[string]any{"channel": session, "workingDirectories": []string{fileURI(dir)}}
	return owner.Call(ctx, "createSession", params, nil)
}

func must(t *testing.T, errs ...error) {
	t.Helper()
	for _, err := range errs {
		if err != nil {
			t.Fatal(err)
		}
	}
}

// spellingsOf returns names for a file of the data directory: its path, symbolic links, hard links,
// and through /proc.
func spellingsOf(t *testing.T, prog *Program, dir, name string) (paths []string) {
	t.Helper()
	secret := filepath.Join(prog.Data, name)
	at := func(n string) string { return filepath.Join(dir, n+"-"+name) }
	must(t, os.Symlink(secret, at("link")), os.Link(secret, at("hard")), os.Symlink(prog.Data, at("dir")),
		os.Symlink("/proc/self/root", at("root")))
	return []string{secret, dir + "/.local/share/../share/ahphub/" + name, at("link"), at("hard"),
		filepath.Join(at("dir"), name), filepath.Join(at("root"), secret), "/proc/self/root" + secret,
		"/proc/self/cwd/.local/share/ahphub/" + name}
}

// The data directory is below the sessions' default directory. A link's guest reads nothing of it,
// nor of the kernel's file systems, by any name; neither do the owner's clients.
func TestViewerCannotReadDataDirectory(t *testing.T) {
	t.Parallel()
	prog, home := startAtHome(t)
	ctx, cancel := context.WithTimeout(t.Context(), 2*patience)
	defer cancel()
	owner := dialHeard(t, ctx, prog, prog.Token(), &heard{})
	web, _ := signIn(t, prog.SignIn())
	secret, err := os.ReadFile(filepath.Join(prog.Data, "token"))
	must(t, err)
	paths := []string{"/proc/self/environ", "/proc/self/mem", "/sys/kernel/notes", "/dev/shm/x"}
	for _, name := range []string{"token", "cookie.key", "ahphub.db", "ahphub.db-wal"} {
		paths = append(paths, spellingsOf(t, prog, home, name)...)
	}
	for _, dir := range []string{home, "/"} {
		session := newSessionIn(t, ctx, owner, dir)
		guest := dialHeard(t, ctx, prog, linkOver(t, web, prog, core.ShortID(session), "viewer"), &heard{})
		for _, path := range paths {
			for who, p := range map[string]*peer.Peer{"a viewer": guest, "the owner's client": owner} {
				var got ahp.ResourceReadResult
				err := p.Call(ctx, "resourceRead", map[string]any{"channel": ahp.RootURI, "uri": fileURI(path)}, &got)
				if err == nil || strings.Contains(got.Data, strings.TrimSpace(string(secret))) {
					t.Errorf("in a session at %s, %s reads %s: %.60q", dir, who, path, got.Data)
				}
			}
		}
	}
}

// The owner's clients cannot list, resolve, write, watch, move or remove anything in the data
// directory either, which limits the harm if others control them.
func TestOwnersClientsCannotReachDataDirectory(t *testing.T) {
	t.Parallel()
	prog, home := startAtHome(t)
	ctx, cancel := context.WithTimeout(t.Context(), 2*patience)
	defer cancel()
	owner := dialHeard(t, ctx, prog, prog.Token(), &heard{})
	session := newSessionIn(t, ctx, owner, home)
	spellingsOf(t, prog, home, "token")
	must(t, os.WriteFile(filepath.Join(home, "notes.txt"), []byte("x"), 0o600))
	in := func(name string) string { return fileURI(filepath.Join(home, name)) }
	data, hard, local, taken, notes := fileURI(prog.Data), in("hard-token"), in(".local"), in("taken"), in("notes.txt")
	must(t, owner.Call(ctx, "resourceRead", map[string]any{"channel": ahp.RootURI, "uri": notes}, nil))
	one := func(uri string) map[string]any { return map[string]any{"uri": uri} }
	two := func(from, to string) map[string]any { return map[string]any{"source": from, "destination": to} }
	write := func(uri string) map[string]any { return map[string]any{"uri": uri, "data": "x"} }
	remove := func(uri string) map[string]any { return map[string]any{"uri": uri, "recursive": true} }
	claim := map[string]any{"kind": "session", "session": session}
	calls := map[string][]map[string]any{
		"resourceList":    {one(data), one(in("dir-token")), one("file:///proc/self"), one(data + "/worktrees")},
		"resourceResolve": {one(data + "/token"), one(hard), one("file:///proc/self/environ")},
		"resourceWrite":   {write(data + "/token"), write(data + "/new"), write(hard)},
		"resourceMkdir":   {one(data + "/new"), one(data + "/worktrees/other/new")},
		"resourceDelete":  {one(data + "/token"), remove(data), remove(local)},
		"resourceMove": {two(data, taken), two(data+"/token", taken), two(local, taken),
			two(notes, data+"/token")},
		"resourceCopy": {two(data+"/token", taken), two(hard, taken), two(local, taken),
			two(notes, data+"/new")},
		"createResourceWatch": {one(data), one(data + "/token"), one(in("dir-token"))},
		"resourceRequest":     {one(data + "/token"), one(hard), one("file:///proc/self/environ")},
		"createTerminal":      {{"channel": "ahp-terminal:/" + uuid.NewString(), "claim": claim, "cwd": data}},
	}
	for method, all := range calls {
		for _, params := range all {
			if params["channel"] == nil {
				params["channel"] = ahp.RootURI
			}
			if err := owner.Call(ctx, method, params, nil); err == nil {
				t.Errorf("%s %v succeeds", method, params)
			} else if strings.Contains(err.Error(), "invalid") {
				t.Errorf("%s %v is not asked rightly: %v", method, params, err)
			}
		}
	}
	for _, dir := range []string{prog.Data, prog.Data + "/worktrees", filepath.Join(home, "dir-token"), "/proc/self"} {
		if err := createIn(ctx, owner, "ahp-session:/"+uuid.NewString(), dir); err == nil {
			t.Errorf("a session works in %s", dir)
		}
	}
	if status, _ := prog.Get("/readyz"); status != http.StatusOK {
		t.Errorf("the program says %d", status)
	}
}

// The data directory is recognized by identity, not by name.
func TestMovedDataDirectoryStaysClosed(t *testing.T) {
	t.Parallel()
	prog, home := startAtHome(t)
	ctx, cancel := context.WithTimeout(t.Context(), 2*patience)
	defer cancel()
	owner := dialHeard(t, ctx, prog, prog.Token(), &heard{})
	newSessionIn(t, ctx, owner, home)
	moved := filepath.Join(home, "moved")
	must(t, os.Rename(prog.Data, moved))
	defer os.Rename(moved, prog.Data)
	var got ahp.ResourceReadResult
	read := map[string]any{"channel": ahp.RootURI, "uri": fileURI(filepath.Join(moved, "cookie.key"))}
	if err := owner.Call(ctx, "resourceRead", read, &got); err == nil {
		t.Errorf("a client reads %q of the data directory that was moved", got.Data)
	}
}
