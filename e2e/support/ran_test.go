package main

import (
	"slices"
	"strings"
	"testing"
)

const stream = `{"Action":"start","Package":"github.com/ahphub/ahphub/hub/x"}
{"Action":"run","Package":"github.com/ahphub/ahphub/hub/x","Test":"TestA"}
{"Action":"output","Package":"github.com/ahphub/ahphub/hub/x","Test":"TestA","Output":"=== RUN   TestA\n"}
{"Action":"pass","Package":"github.com/ahphub/ahphub/hub/x","Test":"TestA"}
{"Action":"skip","Package":"github.com/ahphub/ahphub/hub/x","Test":"TestB"}
{"Action":"pass","Package":"github.com/ahphub/ahphub/hub/x","Test":"TestTranscripts/errors/no_method"}
{"Action":"output","Package":"github.com/ahphub/ahphub/hub/x","Output":"PASS\n"}
{"Action":"output","Package":"github.com/ahphub/ahphub/hub/x","Output":"ok  \tgithub.com/ahphub/ahphub/hub/x\t0.1s\n"}
{"Action":"pass","Package":"github.com/ahphub/ahphub/hub/x"}
`

func TestRunIsPrintedAsGoTestDoes(t *testing.T) {
	var out strings.Builder
	ran, ok, err := follow(strings.NewReader(stream), &out)
	if err != nil || !ok || out.String() != "ok  \tgithub.com/ahphub/ahphub/hub/x\t0.1s\n" {
		t.Errorf("got %v %v %q", ok, err, out.String())
	}
	for cite, want := range map[string]string{
		"hub/x TestA": "pass", "hub/x TestB": "skip", "hub/x TestC": "", "hub/x/testdata/errors.txtar": "pass",
		"hub/x/testdata/host/errors.txtar": "pass", "hub/x/testdata/other.txtar": "", "hub/x/help_test.go": "pass",
	} {
		if got := ran.outcome(cite); got != want {
			t.Errorf("%s: %q, want %q", cite, got, want)
		}
	}
}

func TestFailedRunIsPrintedAndFails(t *testing.T) {
	const failed = `{"Action":"output","Package":"p","Test":"TestA","Output":"=== RUN   TestA\n"}
{"Action":"output","Package":"p","Test":"TestA","Output":"    a_test.go:1: no\n"}
{"Action":"output","Package":"p","Test":"TestA","Output":"        that is why\n"}
{"Action":"output","Package":"p","Test":"TestA","Output":"--- FAIL: TestA (0.1s)\n"}
{"Action":"fail","Package":"p","Test":"TestA"}
{"Action":"output","Package":"p","Output":"FAIL\tp\t0.1s\n"}
{"Action":"fail","Package":"p"}
`
	var out strings.Builder
	_, ok, err := follow(strings.NewReader(failed), &out)
	const why = "    a_test.go:1: no\n        that is why\n"
	if want := "=== RUN   TestA\n" + why + "--- FAIL: TestA (0.1s)\nFAIL\tp\t0.1s\nFAILED: p TestA\n" + why; err != nil || ok || out.String() != want {
		t.Errorf("got %v %v %q, want %q", ok, err, out.String(), want)
	}
	if _, ok, _ := follow(strings.NewReader(""), &out); ok {
		t.Error("a run without a test passed")
	}
}

// A run that times out reports that and the running tests: go test counts it as output of one of
// them, and ends none.
func TestOutputOfUnfinishedTestsIsPrinted(t *testing.T) {
	const timeout = `{"Action":"output","Package":"p","Test":"TestA","Output":"=== RUN   TestA\n"}
{"Action":"output","Package":"p","Test":"TestA","Output":"panic: test timed out after 1s\n"}
{"Action":"output","Package":"pp","Test":"TestB","Output":"of another package that still runs\n"}
{"Action":"output","Package":"p","Output":"FAIL\tp\t1.0s\n"}
{"Action":"fail","Package":"p"}
`
	var out strings.Builder
	_, ok, err := follow(strings.NewReader(timeout), &out)
	if want := "FAIL\tp\t1.0s\npanic: test timed out after 1s\n"; err != nil || ok || out.String() != want {
		t.Errorf("got %v %v %q, want %q", ok, err, out.String(), want)
	}
}

func TestLateEndsAreShownOfPassingTests(t *testing.T) {
	const late = `{"Action":"output","Package":"p","Test":"TestA","Output":"    program.go:1: LATE: the end of a socket took 3s, and 2s are promised\n"}
{"Action":"output","Package":"p","Test":"TestA","Output":"--- PASS: TestA\n"}
{"Action":"pass","Package":"p","Test":"TestA"}
{"Action":"output","Package":"p","Output":"ok  \tp\t0.1s\n"}
{"Action":"pass","Package":"p"}
`
	var out strings.Builder
	_, ok, err := follow(strings.NewReader(late), &out)
	if want := "LATE: TestA: the end of a socket took 3s, and 2s are promised\nok  \tp\t0.1s\n"; err != nil || !ok ||
		out.String() != want {
		t.Errorf("got %v %v %q, want %q", ok, err, out.String(), want)
	}
}

func TestRequirementNeedsATestThatRan(t *testing.T) {
	list := []requirement{{number: 1, sentence: "one"}, {number: 2, sentence: "two"},
		{number: 3, reason: "not offered: x"}}
	found := map[int][]string{1: {"hub/x TestA", "hub/x TestB"}, 2: {"hub/x TestB"}}
	ran, _, _ := follow(strings.NewReader(stream), new(strings.Builder))
	if got := unmet(list, found, ran); !slices.Equal(got, []string{"2: two (hub/x TestB)"}) {
		t.Errorf("got %q", got)
	}
}

// Every requirement is tested, or has a reason why not.
func TestEveryRequirementIsTestedOrSaysWhy(t *testing.T) {
	list, err := parse(listed)
	if err != nil {
		t.Fatal(err)
	}
	found, err := cites(top)
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range list {
		if len(found[r.number]) == 0 && r.reason == "" {
			t.Errorf("%d (%s) has no test and no reason: %s", r.number, r.level, r.sentence)
		}
	}
}
