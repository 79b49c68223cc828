package e2e

import (
	"strings"
	"testing"
)

// opencode's to-do list is shown as its turn's plan, and the call that wrote it is hidden.
func TestAgentsOpencodePlan(t *testing.T) {
	m := startModel(t)
	dir := installed(t, "AHPHUB_AGENTS")
	h := hosting(t, opencodeConfig(t, dir, m), sandboxArgs(dir, m)...)
	h.begin(`call: todowrite {"todos":[{"id":"1","content":"Read the code","status":"completed","priority":"high"},` +
		`{"id":"2","content":"Change one thing","status":"in_progress","priority":"high"},` +
		`{"id":"3","content":"Run the tests","status":"pending","priority":"low"}]}`)
	h.turn(1)
	h.ana.WaitText(".plan summary", "1 of 3 done")
	h.ana.WaitText(".plan", "Not finished") // the page shows the end of the turn
	const steps = "[...document.querySelectorAll('.plan .step')].map(s => s.querySelector('.grow').textContent).join()"
	if got := Eval[string](h.ana, steps); got != "Done: Read the code,Not finished: Change one thing,Pending: Run the tests" {
		t.Errorf("the plan is %s", got)
	}
	if text := Eval[string](h.ana, "document.querySelector('.parts').innerText"); strings.Contains(text, "todo") ||
		strings.Contains(text, "Read the code") {
		t.Errorf("the to-do list is shown beside the plan:\n%s", text)
	}
	h.ana.Pictures("plan", ".plan")
}
