package host

import (
	"testing"

	"github.com/ahphub/ahphub/hub"
	"github.com/ahphub/ahphub/hub/ahp"
)

// A watch does not outlive the program: what a crash left of one is taken away at the start (AHP requirement 183).
func TestWatchesOfTheLastRunAreGone(t *testing.T) {
	left := hub.BootChannel{ChannelInfo: watchInfo("ahp-resource-watch:/left")}
	w := newWorld(t, Config{}, hub.Config{Boot: hub.Boot{Channels: []hub.BootChannel{left}}})
	defer w.stop()
	if _, there := w.hub.Info(left.URI); there {
		t.Error("the watch is still there, and nothing would ever be told on it")
	}
	if err := w.host.Prepare(t.Context(), Caller{Principal: owner}, left.URI); code(err) != ahp.CodeNotFound {
		t.Errorf("got %v", err)
	}
}
