package e2e

import (
	"archive/tar"
	"compress/gzip"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestAgentsInstallRunsNamedScriptsOnly checks .ci/npm-install with two packages whose scripts
// leave a mark, one of which is named. It runs where npm is available: in make test-agents.
func TestAgentsInstallRunsNamedScriptsOnly(t *testing.T) {
	if os.Getenv("AHPHUB_AGENTS") == "" && os.Getenv("AHPHUB_AGENTS_SOAK") == "" {
		t.Skip("this needs npm: make test-agents installs it and runs this")
	}
	dir, marks := t.TempDir(), t.TempDir()
	var depends, packages []string
	for _, name := range []string{"named", "unnamed"} {
		tarball := packScript(t, name, "touch "+filepath.Join(marks, name))
		depends = append(depends, fmt.Sprintf("%q: %q", name, "file:"+tarball))
		packages = append(packages, fmt.Sprintf(`%q: {"version": "1.0.0", "resolved": %q, "hasInstallScript": true}`,
			"node_modules/"+name, "file:"+tarball))
	}
	dependencies := `"dependencies": {` + strings.Join(depends, ", ") + `}`
	for name, content := range map[string]string{
		"package.json": `{"name": "marks", ` + dependencies + `}`,
		"package-lock.json": `{"name": "marks", "lockfileVersion": 3, "requires": true, "packages": {"": {` +
			dependencies + `}, ` + strings.Join(packages, ", ") + `}}`,
		"scripts": "named # for its mark\n",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	install := exec.CommandContext(t.Context(), "sh", "../.ci/npm-install", dir)
	install.Env = append(os.Environ(), "XDG_CACHE_HOME="+t.TempDir())
	out, err := install.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	if !strings.Contains(string(out), "Their scripts did not run: unnamed\n") {
		t.Errorf("the scripts that did not run are not listed:\n%s", out)
	}
	ran, err := os.ReadDir(marks)
	if err != nil {
		t.Fatal(err)
	}
	if len(ran) != 1 || ran[0].Name() != "named" {
		t.Errorf("the scripts of %v ran, want those of named alone", ran)
	}
}

// packScript makes an npm package with an install script and returns the path of its tarball.
func packScript(t *testing.T, name, script string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name+".tgz")
	file, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	pressed := gzip.NewWriter(file)
	packed := tar.NewWriter(pressed)
	content := fmt.Sprintf(`{"name": %q, "version": "1.0.0", "scripts": {"postinstall": %q}}`, name, script)
	err = packed.WriteHeader(&tar.Header{Name: "package/package.json", Mode: 0o644, Size: int64(len(content))})
	if err == nil {
		_, err = packed.Write([]byte(content))
	}
	for _, end := range []func() error{packed.Close, pressed.Close} {
		if err == nil {
			err = end()
		}
	}
	if err != nil {
		t.Fatal(err)
	}
	return path
}
