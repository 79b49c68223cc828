package host

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/ahphub/ahphub/hub"
	"github.com/ahphub/ahphub/hub/ahp"
	"github.com/ahphub/ahphub/hub/host/core"
	"github.com/ahphub/ahphub/hub/host/files"
	"github.com/ahphub/ahphub/hub/host/hosttest"
)

// A watch ends with its run: watches left by a crash are removed at the start (AHP requirement
// 183).
func TestWatchesEndWithTheirRun(t *testing.T) {
	left := hub.BootChannel{ChannelInfo: files.WatchInfo("ahp-resource-watch:/left")}
	w := newWorld(t, Config{}, hub.Config{Boot: hub.Boot{Channels: []hub.BootChannel{left}}})
	defer w.stop()
	if _, there := w.hub.Info(left.URI); there {
		t.Error("the watch is still there, and nothing would ever be told on it")
	}
	if err := w.host.Prepare(w.t.Context(), core.Caller{Principal: owner}, left.URI); code(err) != ahp.CodeNotFound {
		t.Errorf("got %v", err)
	}
}

// Access ends with the session that gave it: reading, and watching (AHP requirements 180 and 184).
func TestAccessEndsWithItsSession(t *testing.T) {
	w, c := shellWorld(t, Config{}, hub.Config{})
	dir := t.TempDir()
	file := core.FileURI(filepath.Join(dir, "a.txt"))
	change := func() { w.must(os.WriteFile(filepath.Join(dir, "a.txt"), []byte(time.Now().String()), 0o600)) }
	change()
	read := func() error {
		_, err := w.host.Files.ResourceRead(w.t.Context(), c.caller, ahp.ResourceReadParams{URI: file})
		return err
	}
	wantCode(t, read(), ahp.CodePermissionDenied)
	const there ahp.URI = "ahp-session:/there"
	w.must(w.host.CreateSession(w.t.Context(), c.caller, ahp.CreateSessionParams{Channel: there,
		WorkingDirectories: []ahp.URI{core.FileURI(dir)}}))
	w.must(read())
	_, err := w.host.Files.ResourceRequest(w.t.Context(), c.caller, ahp.ResourceRequestParams{URI: file,
		Write: ahp.Ptr(true)})
	w.must(err)
	watch, err := w.host.Files.CreateResourceWatch(w.t.Context(), c.caller,
		ahp.CreateResourceWatchParams{URI: core.FileURI(dir)})
	w.must(err)
	told := func() bool { // the channel counts batches
		before := w.hub.Seq()
		change()
		hosttest.Eventually(t, "a change", func() bool {
			_, open := w.hub.Info(watch.Channel)
			return !open || w.hub.Seq() > before
		})
		_, open := w.hub.Info(watch.Channel)
		return open
	}
	if !told() {
		t.Fatal("the watch ended by itself")
	}
	w.must(w.host.DisposeSession(w.t.Context(), c.caller, ahp.DisposeSessionParams{Channel: there}))
	wantCode(t, read(), ahp.CodePermissionDenied)
	hosttest.Eventually(t, "the end of the watch", func() bool { return !told() })
}
