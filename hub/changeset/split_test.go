package changeset

import (
	"fmt"
	"path/filepath"
	"testing"
)

// The private index of a large repository is split: after many looks, commits and stagings, one
// shared file remains. The person's own index does not change, split or not.
func TestSplitIndex(t *testing.T) {
	for name, theirs := range map[string]bool{"ours alone": false, "theirs too": true} {
		t.Run(name, func(t *testing.T) {
			p := newRepo(t)
			p.svc.splitFrom = 0
			for i := range 40 {
				p.write(fmt.Sprintf("many/%02d.txt", i), "x\n")
			}
			if theirs {
				p.git("update-index", "--split-index")
			}
			p.commit()
			before := p.checkpoint()
			for i := range 30 {
				p.write("a.txt", fmt.Sprintf("round %d\n", i))
				p.write(fmt.Sprintf("many/%02d.txt", i), "y\n")
				if i%10 == 5 {
					p.git("add", "-A")
				}
				frozen := p.freeze()
				got := p.look("a.txt", fmt.Sprintf("many/%02d.txt", i))
				frozen()
				if n := len(p.compare(before, got)); n != i+2 {
					t.Fatalf("in round %d %d files changed", i, n)
				}
			}
			if got, all := p.look(), p.checkpoint(); got.Trees[0].OID != all.Trees[0].OID {
				t.Error("a look at everything finds more")
			}
			p.uncommitted() // reads the person's index through the private directory
			p.git("status")
			shared, err := filepath.Glob(filepath.Join(p.svc.repo(session, p.dir).git, "sharedindex.*"))
			if err != nil || !theirs && len(shared) != 1 {
				t.Errorf("there are %d shared files: %v", len(shared), err)
			}
			if s, err := p.svc.Staging(t.Context(), session, []string{p.dir}); err != nil || s.Files == 0 {
				t.Errorf("%d files are staged: %v", s.Files, err)
			}
		})
	}
}
