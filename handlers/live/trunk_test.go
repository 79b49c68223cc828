package live

import (
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ahphub/ahphub/hub"
	"github.com/ahphub/ahphub/hub/access"
)

// presenceLimit is how long visitors are shown who have vanished (docs/limits.md).
const presenceLimit = 6 * time.Second

// countTrunks returns how many nodes are connected.
func (e *Engine) countTrunks() int {
	e.mu.Lock()
	defer e.mu.Unlock()
	return len(e.trunks)
}

// A node that loses power can't close its connection. Its visitors are soon gone for others all the same.
func TestVisitorsOfANodeWithoutPowerAreGone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		v := notedVisitor{make(chan string, 10)}
		e := newEngine(t, Config{Visit: func(*http.Request, access.Principal) Visitor { return v }})
		_, mark := e.draw(t, ana)
		url, client := startLeaderInMemory(t, e, ana)
		trunk, name := connectNode(t, url, client)
		admitVisitor(t, url, client, name+".1", mark)
		if err := writeJSON(t.Context(), trunk, event{Do: "alive"}); err != nil {
			t.Fatal(err)
		}
		began := time.Now()
		if got := <-v.events; got != "ends" {
			t.Errorf("the visitor of a node without power %s", got)
		}
		if took := time.Since(began); took < trunkSilence || took > presenceLimit {
			t.Errorf("the visitor is gone after %v", took)
		}
		synctest.Wait()
		if n := e.countTrunks(); n != 0 {
			t.Errorf("%d nodes are waited for", n)
		}
	})
}

// revokeAndAwait revokes a guest's link, and checks that forms then wait for nodes as long as wanted, and no longer afterwards.
func revokeAndAwait(t *testing.T, e *Engine, l *access.Links, guest access.Principal, want time.Duration) {
	t.Helper()
	if err := l.Revoke(t.Context(), guest.Link); err != nil {
		t.Fatal(err)
	}
	for _, want := range []time.Duration{want, 0} {
		began := time.Now()
		e.AwaitNodes(t.Context())
		if took := time.Since(began); took != want {
			t.Errorf("it waits for %v, want %v", took, want)
		}
	}
}

// Forms that take rights away wait for a node that falls silent until it has ended its streams, and no longer.
func TestRevocationWaitsUntilSilentNodeHasEndedItsStreams(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, guest := linkedGuest(t)
		e := newEngine(t, Config{Links: l})
		_, mark := e.draw(t, ana)
		url, client := startLeaderInMemory(t, e, guest)
		trunk, name := connectNode(t, url, client)
		admitVisitor(t, url, client, name+".1", mark)
		if err := writeJSON(t.Context(), trunk, event{Do: "alive"}); err != nil {
			t.Fatal(err)
		}
		time.Sleep(trunkLost + trunkSilence/2)
		synctest.Wait()
		revokeAndAwait(t, e, l, guest, trunkSilence/2)
	})
}

// A connection may end on the leader's side alone: the node then ends its streams when it hears nothing, and forms wait for that.
func TestRevocationWaitsForNodeWhoseConnectionBroke(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, guest := linkedGuest(t)
		e := newEngine(t, Config{Links: l})
		_, mark := e.draw(t, ana)
		url, client := startLeaderInMemory(t, e, guest)
		trunk, name := connectNode(t, url, client)
		admitVisitor(t, url, client, name+".1", mark)
		if err := trunk.CloseNow(); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		revokeAndAwait(t, e, l, guest, trunkSilence)
	})
}

// A node is kept as long as it answers, with or without anything to say.
func TestQuietNodeIsKept(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := newEngine(t, Config{})
		url, client := startLeaderInMemory(t, e, ana)
		relay := NewRelay(RelayConfig{Transport: client.Transport})
		trunk, err := relay.trunkTo(t.Context(), url[len("http://"):], t.Context())
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(5 * time.Minute)
		synctest.Wait()
		if err := trunk.ctx.Err(); err != nil || e.countTrunks() != 1 {
			t.Errorf("after minutes in which nothing happened: %v; %d nodes are connected", err, e.countTrunks())
		}
	})
}

// A node of an earlier release sends no heartbeats, but answers pings.
func TestNodeWithoutHeartbeatsIsKept(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := newEngine(t, Config{})
		url, client := startLeaderInMemory(t, e, ana)
		trunk, _ := connectNode(t, url, client)
		go func() {
			for {
				if _, _, err := trunk.Read(t.Context()); err != nil {
					return
				}
			}
		}()
		time.Sleep(5 * time.Minute)
		synctest.Wait()
		if n := e.countTrunks(); n != 1 {
			t.Errorf("after minutes %d nodes are connected", n)
		}
	})
}

// A node that is back shows none of the visitors that it had before.
func TestNodeThatConnectsAgainReplacesItsConnection(t *testing.T) {
	v := notedVisitor{make(chan string, 10)}
	e := newEngine(t, Config{Visit: func(*http.Request, access.Principal) Visitor { return v }})
	_, mark := e.draw(t, ana)
	url := startLeader(t, e, ana).URL
	_, name := connectNode(t, url, http.DefaultClient)
	admitVisitor(t, url, http.DefaultClient, name+".1", mark)
	_, name = connectNode(t, url, http.DefaultClient)
	if got := <-v.events; got != "ends" {
		t.Errorf("the visitor from before %s", got)
	}
	admitVisitor(t, url, http.DefaultClient, name+".1", mark)
	if n := e.countTrunks(); n != 1 {
		t.Errorf("the node has %d connections", n)
	}
}

// A page whose session is deleted while the leader's answer about it is on its way doesn't wait for the room forever.
func TestRoomThatEndsBeforeTheAnswerArrives(t *testing.T) {
	for name, watched := range map[string]bool{"nobody watches": false, "another page watches": true} {
		t.Run(name, func(t *testing.T) {
			e := newEngine(t, Config{})
			_, mark := e.draw(t, ana)
			transport := &http.Transport{}
			t.Cleanup(transport.CloseIdleConnections)
			wait := func() {}
			url, _ := startFollowerBy(t, startLeader(t, e, ana), slowAnswers{transport, func() { wait() }})
			if watched {
				dial(t, url, mark)
			}
			wait = func() {
				if err := e.cfg.Hub.Do(func(tx *hub.Tx) { tx.Close(sessionURI) }); err != nil {
					t.Error(err)
				}
				e.AwaitNodes(t.Context())
				e.checkStreamsEnded(t)
			}
			if got := refusal(t, url, mark); got != errRoomEnded.Error() {
				t.Errorf("the page is answered %q", got)
			}
			wait = func() {}
			e.openSession(t, "restored")
			_, mark = e.draw(t, ana)
			again := dial(t, url, mark)
			e.setTitle(t, "after")
			again.until("after")
		})
	}
}

// A visitor who leaves before the leader has admitted them is not admitted later, however many left before.
func TestVisitorsWhoLeaveBeforeTheyAreAdmitted(t *testing.T) {
	trunk := newTrunk("box2", func(error) {})
	for id := uint64(1); id <= 3*mostNumbers; id++ {
		trunk.handleEvent(event{Grant: id, Do: "end"})
		if id%3 == 0 {
			continue // this request never arrives
		}
		if g, _ := trunk.grant(t.Context(), id, nil); g != nil {
			t.Fatalf("visitor %d is admitted after leaving", id)
		}
	}
	if n := len(trunk.early.slots); n > mostNumbers {
		t.Errorf("%d numbers of such visitors are kept", n)
	}
	if g, _ := trunk.grant(t.Context(), 3*mostNumbers+1, nil); g == nil {
		t.Error("the next visitor, who stays, is not admitted")
	}
}
