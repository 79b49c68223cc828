package review

import (
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"
)

var (
	ana = Person{"owner", "Ana"}
	ben = Person{"guest:ben", "Ben"}
)

func at(minute int) time.Time { return time.Date(2026, 5, 4, 10, minute, 0, 0, time.UTC) }

// formatVerdicts writes the verdicts of a review on one line.
func formatVerdicts(d Review) string {
	var out []string
	for _, v := range d.Verdicts {
		s := v.By.Name + " " + string(v.Kind)
		if v.Overtaken {
			s += " overtaken"
		}
		if !v.Stands() {
			s += " " + string(v.End)
		}
		out = append(out, strings.TrimSpace(s+" "+strings.Join(v.Changed, " ")))
	}
	return strings.Join(out, ", ")
}

func TestVerdicts(t *testing.T) {
	given := func(p Person, k Kind, m int) Event { return Given{Verdict{By: p, Kind: k, At: at(m)}} }
	for name, c := range map[string]struct {
		events []Event
		want   string
	}{
		"one each": {[]Event{given(ana, Approve, 1), given(ben, RequestChanges, 2)}, "Ana approve, Ben changes"},
		"changes mind": {[]Event{given(ben, RequestChanges, 1), given(ben, Approve, 2)},
			"Ben changes replaced, Ben approve"},
		"withdrawn": {[]Event{given(ana, Approve, 1), given(ben, Approve, 1),
			Ended{Who: ana.ID, Why: Withdrawn, At: at(2), Changed: []string{"a.go"}}},
			"Ana approve withdrawn a.go, Ben approve"},
		"dismissed": {[]Event{given(ben, Comment, 1), Ended{Who: ben.ID, Why: Dismissed, By: &ben, At: at(2)}},
			"Ben comment dismissed"},
		"ends once": {[]Event{given(ben, Approve, 1), Ended{Who: ben.ID, Why: Withdrawn},
			Ended{Who: ben.ID, Why: Dismissed}}, "Ben approve withdrawn"},
		"overtaken": {[]Event{given(ben, RequestChanges, 1), Overtaken{Who: ben.ID}}, "Ben changes overtaken"},
		"nobody's":  {[]Event{Ended{Who: ben.ID, Why: Dismissed}, Overtaken{Who: ana.ID}}, ""},
		"again, anew": {[]Event{given(ben, Approve, 1), Ended{Who: ben.ID, Why: Withdrawn}, given(ben, Approve, 3)},
			"Ben approve withdrawn, Ben approve"},
		"not overtaken": {[]Event{given(ben, RequestChanges, 1), Overtaken{Who: ben.ID}, given(ben, RequestChanges, 2)},
			"Ben changes overtaken replaced, Ben changes"},
		"of another one": {[]Event{Given{Verdict{By: ben, Kind: Approve, Digest: "new"}},
			Ended{Who: ben.ID, Digest: "old", Why: Withdrawn}, Overtaken{Who: ben.ID, Digest: "old"}}, "Ben approve"},
		"nothing at all": {nil, ""},
	} {
		var d Review
		for _, e := range c.events {
			d = d.After(e)
		}
		if got := formatVerdicts(d); got != c.want {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
	}
}

// A review value never changes.
func TestReviewsAreValues(t *testing.T) {
	d := Review{}.After(Joined{ana}).After(Given{Verdict{By: ben, Kind: Approve}}).After(
		Called{Mention{Who: ana.ID, Thread: "t"}})
	was := Review{slices.Clone(d.People), slices.Clone(d.Verdicts), slices.Clone(d.Mentions)}
	for _, e := range []Event{Joined{Person{ana.ID, "Anna"}}, Ended{Who: ben.ID, Why: Dismissed},
		Overtaken{Who: ben.ID},
		Read{Threads: []string{"t"}}, Called{Mention{Who: ana.ID, Thread: "t", By: ben}}} {
		_ = d.After(e)
	}
	if !reflect.DeepEqual(d, was) {
		t.Errorf("it became %+v", d)
	}
}

func TestReviewsAreBounded(t *testing.T) {
	var d Review
	for i := range 2 * MaxVerdicts {
		p := Person{ID: strings.Repeat("x", i+1), Name: "n"}
		d = d.After(Joined{p}).After(Given{Verdict{By: ben, At: at(i)}}).After(Called{Mention{Who: p.ID}})
	}
	if len(d.People) != MaxPeople || len(d.Verdicts) != MaxVerdicts || len(d.Mentions) != MaxMentions ||
		len(d.Standing()) != 1 {
		t.Errorf("%d people, %d verdicts of which %d stand, %d mentions", len(d.People), len(d.Verdicts),
			len(d.Standing()),
			len(d.Mentions))
	}
	d = d.After(Ended{Who: ben.ID, Why: Withdrawn, Changed: numbered(30)})
	if v := d.Verdicts[MaxVerdicts-1]; len(v.Changed) != maxChanged || v.More != 30-maxChanged {
		t.Errorf("lists %d files and %d more", len(v.Changed), v.More)
	}
}

func TestDigests(t *testing.T) {
	was := map[string]string{"a": "1", "b": "2", "c": "3"}
	now := map[string]string{"a": "1", "b": "4", "d": "5"}
	if got := strings.Join(Differences(was, now), " "); got != "b c d" {
		t.Errorf("%s changed", got)
	}
	if Digest(was) == Digest(now) || Digest(was) != Digest(map[string]string{"c": "3", "b": "2", "a": "1"}) {
		t.Error("a digest does not name the versions")
	}
}

func TestMentions(t *testing.T) {
	people := []Person{ana, ben, {"guest:am", "Ana Maria"}, {"guest:b2", "Ben"}, {"guest:ü", "Ünal"}}
	for text, want := range map[string]string{
		"@Ana look":                      "Ana",
		"ask @ana, or @BEN.":             "Ana Ben Ben",
		"@Ana Maria and @Ana":            "Ana Maria Ana",
		"ana@ana.example":                "",
		"@Anabel":                        "",
		"`@Ana` and\n```\n@Ben\n```\nno": "",
		"(@Ünal)":                        "Ünal",
		"@":                              "",
		"@Ana@Ben":                       "Ana",
	} {
		var got []string
		for _, p := range Mentions(text, people) {
			got = append(got, p.Name)
		}
		if s := strings.Join(got, " "); s != want {
			t.Errorf("%q mentions %q, want %q", text, s, want)
		}
	}
}
