package environ

import (
	"slices"
	"testing"
)

func TestFilterKeepsWhatIsListed(t *testing.T) {
	all := []string{"HOME=/home/ana", "LC_TIME=C", "GH_TOKEN=secret", "AHPHUB_TOKEN=secret", "HOMER=x", "MY_ONE=1",
		"ONE=1", "ONE_MORE=2", "PATH"}
	for _, test := range []struct {
		name        string
		extra, want []string
	}{
		{"the usual ones", nil, []string{"HOME=/home/ana", "LC_TIME=C", "PATH"}},
		{"more by name and beginning", []string{"MY_*", "ONE"}, []string{"HOME=/home/ana", "LC_TIME=C", "MY_ONE=1",
			"ONE=1", "PATH"}},
		{"never ahphub's own", []string{"AHPHUB_TOKEN", "AHPHUB_*", "A*"}, []string{"HOME=/home/ana", "LC_TIME=C",
			"PATH"}},
	} {
		if got := Filter(all, test.extra); !slices.Equal(got, test.want) {
			t.Errorf("%s: got %v, want %v", test.name, got, test.want)
		}
	}
}
