package host

import (
	"encoding/json"
	"testing"

	"github.com/ahphub/ahphub/hub/ahp"
	"github.com/ahphub/ahphub/hub/host/changes"
	"github.com/ahphub/ahphub/hub/host/core"
)

func TestOwnMetaKeepsOtherNotices(t *testing.T) {
	m := withHostMeta(ahp.Meta{"other": []byte(`1`), core.MetaKey: []byte(`{"verdicts":2}`)}, "changes",
		changes.Watching{Polling: true, Why: "so"})
	if got := string(m[core.MetaKey]); got != `{"changes":{"polling":true,"seconds":0,"why":"so"},"verdicts":2}` ||
		string(m["other"]) != "1" {
		t.Errorf("%s %v", got, m)
	}
	if got := string(withHostMeta(m, "changes", nil)[core.MetaKey]); got != `{"verdicts":2}` {
		t.Error(got)
	}
}

// The host's changes of a session's _meta keep others' keys (AHP requirement 85).
func TestOwnMetaKeepsOtherKeys(t *testing.T) {
	others := ahp.Meta{"x/other": json.RawMessage(`{"a":1}`)}
	next := withHostMeta(others, "k", "v")
	if string(next["x/other"]) != `{"a":1}` || len(next) != 2 || len(others) != 1 {
		t.Errorf("after a change: %s, from %s", next, others)
	}
	if next = withHostMeta(next, "k", nil); len(next) != 1 {
		t.Errorf("after its removal: %s", next)
	}
}
