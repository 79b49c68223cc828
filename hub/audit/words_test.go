package audit

import (
	"testing"

	"github.com/ahphub/ahphub/hub/access"
)

// Every action that a client may dispatch and every method is audited, or listed with the reason
// why not.
func TestEveryActionAndMethodIsWrittenDownOrSaysWhyNot(t *testing.T) {
	check := func(what string, all []string, words, not map[string]string) {
		t.Helper()
		known := map[string]bool{}
		for _, name := range all {
			known[name] = true
			if (words[name] == "") == (not[name] == "") {
				t.Errorf("the %s %s is %q and %q: give it a row in one table of words.go", what, name, words[name],
					not[name])
			}
		}
		for _, table := range []map[string]string{words, not} {
			for name := range table {
				if !known[name] {
					t.Errorf("there is no %s %s any more: take its row away", what, name)
				}
			}
		}
	}
	calls := map[string]string{}
	for name, m := range methods {
		calls[name] = m.what
	}
	check("action", access.Actions(), actions, notActions)
	check("method", access.Methods(), calls, notMethods)
}
