package site

import (
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/ahphub/ahphub/hub"
)

// On a quorum, a page is sent once its content is durable. If that may never happen, nothing is sent.
func TestPageOnAQuorumShowsWhatIsDurable(t *testing.T) {
	for name, c := range map[string]struct {
		end    func(*hub.Hub, hub.Batch)
		status int
		shows  string
	}{
		"durable":       {func(h *hub.Hub, b hub.Batch) { h.Durable(b.Upto, 0) }, http.StatusOK, "renamed"},
		"leads no more": {func(h *hub.Hub, _ hub.Batch) { h.JournalFailed(errors.New("deposed")) }, http.StatusServiceUnavailable, ""},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				h := hub.New(hub.Config{Journal: true, Quorum: func() error { return nil }, Boot: hub.Boot{Reserved: 1 << 20}})
				if err := h.Do((*hub.Tx).Prune); err != nil {
					t.Fatal(err)
				}
				b, err := h.Unjournaled(t.Context())
				if err != nil {
					t.Fatal(err)
				}
				st := &Site{Hub: h}
				got := httptest.NewRecorder()
				failed := make(chan error, 1)
				go func() {
					failed <- st.serve(got, httptest.NewRequest(http.MethodGet, "/", nil), func(w http.ResponseWriter, _ *http.Request) error {
						_, _ = io.WriteString(w, "renamed") // the client may have disconnected
						return nil
					})
				}()
				synctest.Wait()
				if got.Body.Len() > 0 {
					t.Errorf("it shows %q before it is durable", got.Body)
				}
				c.end(h, b)
				status := http.StatusOK
				if err := <-failed; err != nil {
					status = Classify(err).Status
				}
				if status != c.status || !strings.Contains(got.Body.String(), c.shows) || c.shows == "" && got.Body.Len() > 0 {
					t.Errorf("the answer is %d with %q", status, got.Body)
				}
			})
		})
	}
}
