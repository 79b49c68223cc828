package store

import (
	"fmt"
	"testing"
	"time"

	"github.com/ahphub/ahphub/hub"
)

func TestAnswersAreBounded(t *testing.T) {
	s := open(t, Config{})
	now := time.Now()
	must(t, s.transact(func(c *conn) error {
		add := func(client string, seq int, at time.Time) {
			_, err := c.exec(sqlAnswer, client, seq, seq, chatURI, at.UnixMicro(), nil)
			must(t, err)
		}
		add("p\nlong ago", 1, now.Add(-2*answersFor))
		for i := range bootedClients + 10 {
			add(fmt.Sprint("p\n", i), 10+i, now)
		}
		_, err := c.exec(sqlPutDoc, clientBucket, "p\nlong ago", now.Add(-2*clientsFor).UnixMicro(), []byte("{}"), nil)
		return err
	}))
	b, err := s.Boot(t.Context())
	must(t, err)
	if n := len(b.Answered); n != bootedClients || b.Answered[0].ClientID != "10" ||
		b.Answered[n-1].ClientID != fmt.Sprint(bootedClients+9) {
		t.Errorf("%d answers, from %+v to %+v", n, b.Answered[0], b.Answered[n-1])
	}
	batch, err := Encode(hub.Batch{Writes: []hub.Write{{Prune: now}}}, 0)
	must(t, err)
	must(t, s.Apply(1, batch))
	if _, ok, err := s.Get(t.Context(), clientBucket, "p\nlong ago"); ok || err != nil {
		t.Errorf("a client of long ago is still remembered: %v", err)
	}
}
