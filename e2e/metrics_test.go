package e2e

import (
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"
)

// The metrics are valid according to promtool, if installed, and the dashboard only uses existing
// ones. A backup, a page and a turn change the expected metrics.
func TestMetricsAndDashboard(t *testing.T) {
	t.Parallel()
	prog := Start(t, Options{Args: []string{"--agent", "script"}})
	if at := prog.gauge("ahphub_last_backup_timestamp_seconds"); at != 0 {
		t.Errorf("there was a backup at %v before any", at)
	}
	before := time.Now().Add(-time.Second)
	if out, err := prog.Command("backup", "--data", prog.Data, filepath.Join(t.TempDir(), "copy.db")); err != nil {
		t.Fatal(err, out)
	}
	if at := prog.gauge("ahphub_last_backup_timestamp_seconds"); at < float64(before.Unix()) {
		t.Errorf("the last backup is at %v, want after %v", at, before.Unix())
	}
	c, _ := signIn(t, prog.SignIn())
	sendForm(t, c, prog.URL+"/new", url.Values{"agent": {"script"}, "dir": {t.TempDir()}, "message": {"plan\nrun true"}})
	waitUntil(t, "a call to wait", func() error {
		if prog.gauge("ahphub_sessions_waiting") != 1 {
			return errors.New("none does")
		}
		return nil
	})
	metrics := scrape(t, prog)
	if promtool, err := exec.LookPath("promtool"); err == nil {
		cmd := exec.CommandContext(t.Context(), promtool, "check", "metrics")
		cmd.Stdin = strings.NewReader(metrics)
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("promtool: %v\n%s", err, out)
		}
	}
	documented, err := os.ReadFile("../docs/telemetry.md")
	if err != nil {
		t.Fatal(err)
	}
	for panel, exprs := range dashboard(t) {
		for _, expr := range exprs {
			for _, name := range regexp.MustCompile(`\b(?:ahphub|go|process)_\w+`).FindAllString(expr, -1) {
				base := regexp.MustCompile(`_(bucket|count)$`).ReplaceAllString(name, "")
				if !strings.Contains(metrics, "# TYPE "+base+" ") && !strings.Contains(string(documented), "`"+base+"`") {
					t.Errorf("%s asks for %s, which the server does not have", panel, name)
				}
			}
		}
	}
}

// dashboard returns the queries of docs/grafana.json by panel.
func dashboard(t *testing.T) map[string][]string {
	t.Helper()
	raw, err := os.ReadFile("../docs/grafana.json")
	if err != nil {
		t.Fatal(err)
	}
	var d struct {
		Panels []struct {
			Title   string
			Targets []struct{ Expr string }
		}
	}
	if err := json.Unmarshal(raw, &d); err != nil {
		t.Fatal(err)
	}
	out := map[string][]string{}
	for _, p := range d.Panels {
		for _, q := range p.Targets {
			out[p.Title] = append(out[p.Title], q.Expr)
		}
	}
	if len(out) == 0 {
		t.Fatal("the dashboard has no queries")
	}
	return out
}

func scrape(t *testing.T, prog *Program) string {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, prog.URL+"/metrics", nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+prog.Token())
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	raw, err := io.ReadAll(res.Body)
	if err != nil || res.StatusCode != http.StatusOK {
		t.Fatal(res.Status, err)
	}
	return string(raw)
}
