package host

import (
	"testing"

	"github.com/ahphub/ahphub/hub/ahp"
)

// A client decides the result of its own tool's calls, so naming a version there gives no access to
// it.
func TestResultOfClientToolOpensNoVersion(t *testing.T) {
	const version = "ahp-blob:/secret.txt?session=x&version=y"
	side := &ahp.FileEditSide{URI: "file:///secret.txt", Content: ahp.ContentRef{URI: version}}
	content := []ahp.ToolResultContent{{Value: &ahp.ToolResultFileEditContent{After: side}},
		{Value: &ahp.ToolResultResourceContent{URI: version}}}
	for _, c := range []struct {
		by    *ahp.ToolCallContributor
		opens bool
	}{
		{nil, true},
		{&ahp.ToolCallContributor{Value: &ahp.ToolCallClientContributor{ClientID: "guest"}}, false},
	} {
		done := &ahp.ToolCallCompletedState{}
		done.Content, done.Contributor = content, c.by
		if got := callNames(ahp.ToolCallState{Value: done}, version); got != c.opens {
			t.Errorf("a result of %v opens the version: %v", c.by, got)
		}
	}
}
