package audit_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/ahphub/ahphub/hub"
	"github.com/ahphub/ahphub/hub/audit"
)

// busyDay is an audit of many generated entries: one call takes all day, one never ends, and every
// tenth entry is a call that ends immediately, is refused or fails.
type busyDay struct {
	audit.Store
	entries int
	passes  int // in progress
	listed  int // entries that the outermost pass should have listed so far
}

func (d *busyDay) AuditEntries(_ context.Context, visit func([]byte) error) error {
	if d.passes++; d.passes == 1 {
		d.listed = 0
	}
	defer func() { d.passes-- }()
	add := func(listed int, text string, args ...any) error {
		if d.passes == 1 {
			d.listed += listed
		}
		return visit(fmt.Appendf(nil, text, args...))
	}
	err := errors.Join(add(1, `{"what":"long","id":"long","intent":true}`),
		add(1, `{"what":"lost","id":"lost","intent":true}`))
	for i := 0; i < d.entries && err == nil; i++ {
		if i%10 > 0 {
			err = add(1, `{"what":"note %d"}`, i)
			continue
		}
		outcome, listed := []string{"", "nothing", "failed"}[i/10%3], 1
		if outcome == "nothing" {
			listed = 0
		}
		err = errors.Join(add(listed, `{"what":"call %d","id":"%d","intent":true}`, i, i),
			add(1, `{"what":"between"}`), add(0, `{"of":"%d","outcome":%q}`, i, outcome))
	}
	if err == nil {
		err = add(0, `{"of":"long","outcome":"failed"}`)
	}
	return err
}

// An export of a long audit keeps few entries in memory, even if a call lasts from start to end,
// and has each outcome.
func TestEachHoldsFewEntries(t *testing.T) {
	const most = 1100
	d := &busyDay{entries: 50_000}
	l := audit.New(audit.Config{Hub: hub.New(hub.Config{}), Store: d})
	outcomes := map[audit.Outcome]int{}
	n, held := 0, 0
	must(t, l.Each(t.Context(), func(e audit.Entry) error {
		if n == 0 && e.What != "long" || n == 1 && e.What != "lost" {
			t.Errorf("entry %d is %+v", n, e)
		}
		held = max(held, d.listed-n)
		n++
		outcomes[e.Outcome]++
		return nil
	}))
	if held > most {
		t.Errorf("%d entries were held", held)
	}
	if want := 2 + 45_000 + 5_000 + 5_000 - 1667; n != want || outcomes[audit.Unknown] != 1 ||
		outcomes[audit.Failed] != 1+1666 {
		t.Errorf("%d entries of %d, outcomes %v", n, want, outcomes)
	}
	stop := errors.New("enough")
	n = 0
	if err := l.Each(t.Context(), func(audit.Entry) error { n++; return stop }); !errors.Is(err, stop) || n != 1 {
		t.Errorf("a reader who left was shown %d entries: %v", n, err)
	}
}
