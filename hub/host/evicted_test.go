package host

import (
	"encoding/json"
	"testing"
	"testing/synctest"

	"github.com/ahphub/ahphub/hub/access"
	"github.com/ahphub/ahphub/hub/ahp"
)

// A client whose id another principal takes is removed from its sessions at once. Late events of
// the old client do not affect the new one.
func TestEvictedClientLosesItsTools(t *testing.T) {
	inWorld(t, func(w *world) {
		w.create()
		offer := func(p access.Principal) (*client, string) {
			c := w.connect(p, "laptop")
			refused := c.try(session,
				&ahp.SessionActiveClientSetAction{ActiveClient: ahp.SessionActiveClient{ClientID: "laptop",
					Tools: []ahp.ToolDefinition{{Name: p.Name, InputSchema: json.RawMessage(`{"type":"object"}`)}}}})
			return c, refused
		}
		guest, refused := offer(driver)
		if refused != "" {
			t.Fatal(refused)
		}
		guest.caller.Conn.Close(errDisposed)
		if _, refused := offer(owner); refused == "" {
			t.Error("the owner's client takes the place of a guest's in the session")
		}
		w.host.Evicted(driver.ID, "laptop")
		if got := w.session().ActiveClients; len(got) != 0 {
			t.Fatalf("still listed: %+v", got)
		}
		if _, refused := offer(owner); refused != "" {
			t.Fatal(refused)
		}
		w.host.Disconnected(guest.caller)
		w.host.Unsubscribed(guest.caller, session)
		synctest.Wait()
		if got := w.session().ActiveClients; len(got) != 1 || got[0].Tools[0].Name != owner.Name {
			t.Errorf("the owner's client is listed as %+v", got)
		}
		if by, listed := w.host.clients.Principal(session, "laptop"); by != owner.ID || !listed {
			t.Errorf("it is %q's", by)
		}
	})
}
