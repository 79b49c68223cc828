package dialect

import "testing"

func TestVersionRanges(t *testing.T) {
	for version, want := range map[string]string{
		"0.3.0": "", "0.4.0": "0.4.0", "0.4.9": "0.4.0", "0.5.0": "0.5.0", "0.5.1": "0.5.1", "0.5.2": "0.5.2",
		"0.5.7": "0.5.2",
		"0.6.0": "0.6.0", "0.7.1": "0.7.0", "0.8.0": "0.8.0", "0.9.12": "0.9.0", "0.10.0": "0.10.0", "0.10.1": "",
		"1.0.0": "1.0.0", "1.0.5": "1.0.0", "1.1.0": "1.0.0", "1.20.3": "1.0.0", "2.0.0": "", "0.0.0": "",
	} {
		got := ""
		if d, ok := Of(mustParse(version)); ok {
			got = d.Name()
		}
		if got != want {
			t.Errorf("%s is spoken as %q, want %q", version, got, want)
		}
	}
}

func TestVersionsAreThreeNumbers(t *testing.T) {
	for _, s := range []string{"", "1", "1.0", "1.0.0.0", "v1.0.0", "1.0.0-beta", "01.0.0", "1.0.+1", "1..0",
		"1.0.99999999999999999999"} {
		if v, err := Parse(s); err == nil {
			t.Errorf("%q was read as %s", s, v)
		}
	}
}

// A stream's deltas cost older clients no more than current ones.
func TestStreamsAreNotRewritten(t *testing.T) {
	for _, d := range dialects {
		for _, kind := range []string{"chat/delta", "chat/reasoning", "terminal/data"} {
			if !d.Same(kind) {
				t.Errorf("%s is rewritten for %s", kind, d.Name())
			}
		}
		if d.Rewrites() && d.Same("chat/error") {
			t.Errorf("chat/error is not rewritten for %s", d.Name())
		}
	}
}
