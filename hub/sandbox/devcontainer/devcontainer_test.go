package devcontainer

import (
	"encoding/json"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
)

// write creates a repository with a file.
func write(t *testing.T, name, content string) (dir string) {
	t.Helper()
	dir = t.TempDir()
	path := filepath.Join(dir, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	return dir
}

func TestReadSimpleDevcontainer(t *testing.T) {
	t.Setenv("TOKEN", "of-the-hub")
	dir := write(t, ".devcontainer/devcontainer.json", `{
		// For the team. "Not a string
		"name": "tools", /* with // both */ "image": "docker.io/library/node:22",
		"containerEnv": {"PORT": "80//80", "ROOT": "${containerWorkspaceFolder}/src", "SECRET": "${localEnv:TOKEN}",},
		"remoteEnv": {"PORT": "81", "GONE": null, "HOME": "/root"},
		"postCreateCommand": {"a": "npm ci && echo ${TOKEN}", "b": ["make", "-C", "${localWorkspaceFolder}"]},
		"mounts": ["source=/,target=/host,type=bind"], "runArgs": ["--privileged"], "newer": true,
	}`)
	c, err := Read(dir)
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]string{"PORT": "81", "ROOT": dir + "/src"}
	if c.Image != "docker.io/library/node:22" || !reflect.DeepEqual(c.Env, want) {
		t.Errorf("image %q, variables %v and not %v", c.Image, c.Env, want)
	}
	setup := [][]string{{"/bin/sh", "-c", "npm ci && echo ${TOKEN}"}, {"make", "-C", dir}}
	if !reflect.DeepEqual(c.Setup, setup) {
		t.Errorf("commands %q", c.Setup)
	}
	said := strings.Join(c.Ignored, "\n")
	for _, property := range []string{"SECRET isn't set, because it names ${localEnv:TOKEN}", "HOME", "mounts isn't used",
		"runArgs isn't used", "newer isn't used"} {
		if !strings.Contains(said, property) {
			t.Errorf("it does not say that %s: %s", property, said)
		}
	}
	if strings.Contains(said, "of-the-hub") || len(c.Ignored) != 5 {
		t.Error(said)
	}
}

func TestDevcontainerBesideRepositoryIsNotRead(t *testing.T) {
	outside := write(t, "devcontainer.json", `{"image": "other"}`)
	dir := t.TempDir()
	if err := os.Symlink(filepath.Join(outside, "devcontainer.json"), filepath.Join(dir, ".devcontainer.json")); err != nil {
		t.Fatal(err)
	}
	if c, err := Read(dir); err == nil {
		t.Errorf("a link out of the repository is read: %+v", c)
	}
	if c, err := Read(t.TempDir()); c != nil || err != nil {
		t.Errorf("a repository without a file: %v, %v", c, err)
	}
}

func TestWrongDevcontainerIsRefused(t *testing.T) {
	for content, want := range map[string]string{
		`[]`: "no JSON object", `{"image": 3}`: "image", `{"containerEnv": []}`: "containerEnv",
		`{"postCreateCommand": 3}`: "postCreateCommand", `{"image": "a`: "JSON",
		`{"name": "` + strings.Repeat("x", mostBytes) + `"}`: "more than",
	} {
		if _, err := Read(write(t, ".devcontainer.json", content)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.40s: %v", content, err)
		}
	}
}

func FuzzPlain(f *testing.F) {
	f.Add([]byte(`{"a": "b\"//", /* c */ "d": [1, 2,], // e`))
	f.Fuzz(func(t *testing.T, raw []byte) {
		if json.Valid(raw) {
			var before, after any
			if json.Unmarshal(raw, &before) != nil || json.Unmarshal(plain(raw), &after) != nil ||
				!reflect.DeepEqual(before, after) {
				t.Errorf("%q becomes %q", raw, plain(raw))
			}
		}
		_, _ = parse(raw, "/work")
	})
}
