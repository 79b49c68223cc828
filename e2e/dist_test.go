package e2e

import (
	"bytes"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"

	"go.yaml.in/yaml/v3"
)

// makeRelease writes a release for this system, with the program under test, and returns its
// directory.
func makeRelease(t *testing.T) string {
	t.Helper()
	program, err := binary()
	if err != nil {
		t.Fatal(err)
	}
	out := filepath.Join(t.TempDir(), "release")
	make := exec.Command("sh", ".ci/dist/make", "archives")
	make.Dir = ".."
	make.Env = append(os.Environ(), "VERSION=v1.2.3", "PROGRAM="+program, "OUT="+out, "LEVEL=1",
		"SYSTEMS="+runtime.GOOS+"-"+runtime.GOARCH)
	if said, err := make.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, said)
	}
	return out
}

func TestInstallerChecksWhatItDownloads(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("archives are made with GNU tar")
	}
	dir := makeRelease(t)
	archive := "ahphub-1.2.3-" + runtime.GOOS + "-" + runtime.GOARCH + ".tar.gz"
	type change func(name string, content []byte) []byte
	var changed atomic.Pointer[change]
	releases := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		content, err := os.ReadFile(filepath.Join(dir, filepath.Base(r.URL.Path)))
		if err != nil {
			http.NotFound(w, r)
			return
		}
		if change := changed.Load(); change != nil {
			content = (*change)(filepath.Base(r.URL.Path), content)
		}
		if content == nil {
			http.NotFound(w, r)
			return
		}
		w.Write(content)
	}))
	defer releases.Close()
	install := func(prefix string) (string, error) {
		script := exec.Command("sh", filepath.Join(dir, "install.sh"))
		script.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + prefix, "FROM=" + releases.URL}
		said, err := script.CombinedOutput()
		return string(said), err
	}
	for _, test := range []struct {
		name   string
		change change
		want   []string
	}{
		{"another archive", func(name string, content []byte) []byte {
			if name == archive {
				content[len(content)/2] ^= 1
			}
			return content
		}, []string{archive, "is not what checksums.txt says", "Nothing was installed"}},
		{"half an archive", func(name string, content []byte) []byte {
			if name == archive {
				return content[:len(content)/2]
			}
			return content
		}, []string{"is not what checksums.txt says"}},
		{"no archive for this system", func(name string, content []byte) []byte {
			if name == "checksums.txt" {
				return bytes.ReplaceAll(content, []byte(runtime.GOARCH), []byte("sparc"))
			}
			return content
		}, []string{"no archive for", runtime.GOARCH, "checksums.txt"}},
		{"no checksums", func(name string, content []byte) []byte {
			if name == "checksums.txt" {
				return nil
			}
			return content
		}, []string{"cannot download", "checksums.txt"}},
		{"a name that leads elsewhere", func(name string, content []byte) []byte {
			if name == "checksums.txt" {
				return bytes.ReplaceAll(content, []byte("ahphub-1.2.3"), []byte("../../ahphub-1.2.3"))
			}
			return content
		}, []string{"no archive for"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			changed.Store(&test.change)
			home := t.TempDir()
			said, err := install(home)
			if err == nil {
				t.Fatalf("it was installed:\n%s", said)
			}
			for _, want := range append(test.want, "ahphub was not installed") {
				if !strings.Contains(said, want) {
					t.Errorf("it misses %q:\n%s", want, said)
				}
			}
			if _, err := os.Stat(filepath.Join(home, ".local", "bin", "ahphub")); err == nil {
				t.Error("a program was left")
			}
		})
	}
	changed.Store(nil)
	home := t.TempDir()
	said, err := install(home)
	if err != nil || !strings.Contains(said, "Start it with: ") {
		t.Fatalf("%v\n%s", err, said)
	}
	program := filepath.Join(home, ".local", "bin", "ahphub")
	if out, err := exec.Command(program, "version").Output(); err != nil || !strings.HasPrefix(string(out), "ahphub ") {
		t.Errorf("%q, %v", out, err)
	}
	if entries, _ := os.ReadDir(filepath.Dir(program)); len(entries) != 1 {
		t.Errorf("beside it was left: %v", entries)
	}
	taken := filepath.Join(t.TempDir(), "file")
	os.WriteFile(taken, nil, 0o600)
	if said, err := install(taken); err == nil || !strings.Contains(said, "set PREFIX") {
		t.Errorf("into a directory that cannot be made: %v\n%s", err, said)
	}
}

func TestPackagesNameFilesThatExist(t *testing.T) {
	text, err := os.ReadFile("../.ci/dist/nfpm.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var config struct {
		Scripts  map[string]string
		Contents []struct{ Src, Dst string }
	}
	if err := yaml.Unmarshal(text, &config); err != nil {
		t.Fatal(err)
	}
	for _, path := range config.Scripts {
		if out, err := exec.Command("sh", "-n", filepath.Join("..", path)).CombinedOutput(); err != nil {
			t.Errorf("%s: %v %s", path, err, out)
		}
	}
	if len(config.Contents) < 4 {
		t.Errorf("only %d files", len(config.Contents))
	}
	for _, file := range config.Contents {
		if strings.HasPrefix(file.Src, "${STAGE}/") {
			continue // made by .ci/dist/make
		}
		if _, err := os.Stat(filepath.Join("..", file.Src)); err != nil {
			t.Error(err)
		}
	}
	unit, err := os.ReadFile("../.ci/dist/ahphub.service")
	if err != nil {
		t.Fatal(err)
	}
	// Sandboxes do not work with these settings.
	for _, line := range strings.Split(string(unit), "\n") {
		for _, wrong := range []string{"RestrictNamespaces=", "PrivateDevices=", "PrivateUsers=", "ProtectClock=",
			"ProtectControlGroups=", "ProtectHostname=", "ProtectKernelLogs=", "ProtectKernelTunables=", "ProtectProc=",
			"ProcSubset=", "SystemCallFilter="} {
			if strings.HasPrefix(line, wrong) {
				t.Errorf("%s keeps sandboxes from working", line)
			}
		}
	}
	if !strings.Contains(string(unit), "\nDelegate=yes\n") || !strings.Contains(string(unit), "\nNoNewPrivileges=yes\n") {
		t.Error("the unit lacks Delegate or NoNewPrivileges")
	}
}
