package organize

import (
	"strings"
	"testing"
)

func TestSearchFindsWordsLabelsAndMarks(t *testing.T) {
	for find, want := range map[string]bool{
		"":                           true,
		"parser":                     true,
		"PARSER fix":                 true,
		"parser scheduler":           false,
		"label:bug":                  true,
		"label:bugs":                 false,
		`label:"release 2" parser`:   true,
		"release":                    true, // a label is also text
		"is:pinned":                  true,
		"is:unread":                  false,
		`"fix the"`:                  true,
		LabelSearch("Release 2"):     true,
		LabelSearch("Bug") + " none": false,
	} {
		if got := ParseSearch(find).Match([]string{"Fix the parser", "claude"}, []string{"Bug", "Release 2"}, true,
			false); got != want {
			t.Errorf("%q finds it: %v", find, got)
		}
	}
}

func TestLimitsOfWhatPeopleKeep(t *testing.T) {
	s, err := Open(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	for i := range MostPins + 1 {
		if err := s.Pin(t.Context(), "ana", "ahp-session:/"+strings.Repeat("x", i+1), true); err != nil {
			t.Fatal(err)
		}
	}
	if pins := s.Of("ana").Pins; len(pins) != MostPins || pins[0] != "ahp-session:/xx" {
		t.Errorf("%d pins are kept, the first of them %s", len(pins), pins[0])
	}
	for i := range MostFilters {
		if err := s.SaveFilter(t.Context(), "ana", Filter{Find: strings.Repeat("x", i+1)}); err != nil {
			t.Fatal(err)
		}
	}
	for _, f := range []Filter{{Find: "one more"}, {Find: " \n"}, {Find: strings.Repeat("y", longestFind+1)},
		{Name: strings.Repeat("y", longest+1), Find: "y"}} {
		if err := s.SaveFilter(t.Context(), "ana", f); err == nil {
			t.Errorf("%.40q is saved", f)
		}
	}
	for _, labels := range []string{strings.Repeat("y", longest+1), "1,2,3,4,5,6,7,8,9,10,11"} {
		if err := s.SetLabels(t.Context(), "ahp-session:/x", labels); err == nil {
			t.Errorf("the labels %.40q are kept", labels)
		}
	}
	if err := s.SetLabels(t.Context(), "ahp-session:/x", " a\nb, A b,, \"c\" "); err != nil {
		t.Fatal(err)
	}
	if got := strings.Join(s.Labels("ahp-session:/x"), "|"); got != "a b|c" {
		t.Errorf("the labels are %s", got)
	}
}
