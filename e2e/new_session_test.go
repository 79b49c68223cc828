package e2e

import (
	"fmt"
	"testing"
)

// TestStartIsInSightOnNewSession checks that everything a session needs is visible at once, on a
// laptop and on a phone. Rare settings are folded into one line that shows their values, also after
// a change.
func TestStartIsInSightOnNewSession(t *testing.T) {
	t.Parallel()
	prog, _, ana, dir := withChatAgent(t)
	begin(prog, ana, dir, "hello")
	ana.WaitText("#turns", "given: code small | hello") // the form now knows the agent's model and mode
	for _, size := range [][2]int64{{1280, 800}, {390, 844}} {
		ana.look(size[0], size[1], "light")
		ana.Open(prog.URL + "/new")
		for _, needed := range []string{"#dir", "[name=agent]", "#config-model", "#message", "#config-more > summary", "form .btn.main"} {
			if !Eval[bool](ana, fmt.Sprintf(`(() => { const r = document.querySelector(%q).getBoundingClientRect();
				return r.height > 0 && r.top >= 0 && r.bottom <= innerHeight; })()`, needed)) {
				t.Errorf("%s is not in sight at %d by %d", needed, size[0], size[1])
			}
		}
		ana.Says("#config-more > summary", "Current directory")
		if Eval[bool](ana, `document.querySelector('[name="config.isolation"]').checkVisibility()`) {
			t.Error("the workspace is not folded")
		}
		ana.Click("#config-more > summary")
		ana.Click(`[name="config.isolation"][value=worktree]`)
		ana.Says("#config-more > summary", "New worktree")
		ana.Wait(`document.querySelector('#config-worktreeBase').checkVisibility()`)
	}
	ana.Click(`[name="config.approval"][value=auto]`)
	ana.Says("#config-more .set.bad", "Auto-approve everything")
	ana.Pictures("new-more", "#config-more")
}
