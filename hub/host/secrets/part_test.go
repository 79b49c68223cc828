package secrets

import (
	"os"
	"path/filepath"
	"testing"
)

func TestFilesOfSecretsFollowNoLink(t *testing.T) {
	dir, outside := t.TempDir(), t.TempDir()
	list := []Secret{{Name: "KEY", Value: "value", File: true}}
	w := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	w(os.Symlink(outside, filepath.Join(dir, secretDir)))
	w(writeSecrets(dir, list))
	w(os.Remove(filepath.Join(dir, secretDir, "KEY")))
	w(os.Symlink(filepath.Join(outside, "target"), filepath.Join(dir, secretDir, "KEY")))
	w(os.Symlink(filepath.Join(outside, "target"), filepath.Join(dir, secretDir, "KEY.new")))
	w(os.WriteFile(filepath.Join(dir, secretDir, "OLD"), nil, 0o600))
	w(writeSecrets(dir, list))
	if left, err := os.ReadDir(outside); err != nil || len(left) > 0 {
		t.Errorf("outside there is %v (%v)", left, err)
	}
	entries, err := os.ReadDir(filepath.Join(dir, secretDir))
	if err != nil || len(entries) != 1 || entries[0].Name() != "KEY" || !entries[0].Type().IsRegular() {
		t.Errorf("there are %v (%v)", entries, err)
	}
	w(writeSecrets(dir, nil))
	if _, err := os.Lstat(filepath.Join(dir, secretDir)); !os.IsNotExist(err) {
		t.Error("files of secrets are left", err)
	}
}
