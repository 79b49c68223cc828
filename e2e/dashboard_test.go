package e2e

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ahphub/ahphub/hub/loopback/loopbacktest"
)

// A real Prometheus that scrapes a working server returns a result for every query of
// docs/grafana.json.
func TestDashboardHasData(t *testing.T) {
	t.Parallel()
	prometheus, err := exec.LookPath("prometheus")
	if err != nil {
		t.Skip("Prometheus is not installed")
	}
	prog, _, ana, dir := withChatAgent(t)
	query := startPrometheus(t, prometheus, prog)
	if out, err := prog.Command("backup", "--data", prog.Data, filepath.Join(t.TempDir(), "copy.db")); err != nil {
		t.Fatal(err, out)
	}
	joinMachine(t, ana, prog, "box2", "--sandbox", "none")
	rawOf(t, t.Context(), prog)
	begin(prog, ana, t.TempDir(), "spend")
	ana.WaitAnswer("given: ")
	c, _ := signIn(t, prog.SignIn())
	_, res := sendForm(t, c, prog.URL+"/new", url.Values{"agent": {"shell"}, "dir": {t.TempDir()}, "message": {"true"}})
	ana.Open(res.Request.URL.String())
	ana.Live()
	ana.Click(".asks button[data-kind=approve]")
	ana.WaitText("#turns", "exit 0")
	must(t, os.WriteFile(filepath.Join(dir, "broken"), nil, 0o600))
	sendForm(t, c, prog.URL+"/new", url.Values{"agent": {"fake"}, "dir": {t.TempDir()}, "message": {"hello"}})

	for panel, exprs := range dashboard(t) {
		for _, expr := range exprs {
			if strings.Contains(expr, clusterMetrics) {
				continue // covered by TestNodesInBrowser
			}
			expr = strings.NewReplacer("$instance", ".*", "$__rate_interval", "1m").Replace(expr)
			waitUntil(t, panel+" to have data by "+expr, func() error { return query(expr) })
		}
	}
}

// startPrometheus starts a Prometheus that scrapes a server every second. query checks that an
// expression has a value.
func startPrometheus(t *testing.T, program string, prog *Program) (query func(expr string) error) {
	t.Helper()
	dir := t.TempDir()
	server, err := url.Parse(prog.URL)
	if err != nil {
		t.Fatal(err)
	}
	config := fmt.Sprintf("global: {scrape_interval: 1s}\nscrape_configs:\n- job_name: ahphub\n  authorization: {credentials: %q}\n"+
		"  static_configs: [{targets: [%q]}]\n", prog.Token(), server.Host)
	file := filepath.Join(dir, "prometheus.yml")
	if err := os.WriteFile(file, []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	at := loopbacktest.Address(t)
	cmd := exec.Command(program, "--config.file", file, "--storage.tsdb.path", filepath.Join(dir, "data"),
		"--web.listen-address", at)
	out := &lockedBuffer{}
	cmd.Stdout, cmd.Stderr = out, out
	must(t, cmd.Start())
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		if t.Failed() {
			t.Log(out)
		}
	})
	return func(expr string) error {
		res, err := http.Get("http://" + at + "/api/v1/query?query=" + url.QueryEscape(expr))
		if err != nil {
			return err
		}
		defer res.Body.Close()
		var answer struct {
			Error string
			Data  struct{ Result []json.RawMessage }
		}
		if err := json.NewDecoder(res.Body).Decode(&answer); err != nil {
			return err
		}
		switch {
		case answer.Error != "":
			return errors.New(answer.Error)
		case len(answer.Data.Result) == 0:
			return errors.New("no data")
		}
		return nil
	}
}
