// Package boxtest creates an image for tests of containers.
package boxtest

import (
	"archive/tar"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"sync"
)

// imagePrograms are this computer's programs in the tests' image.
var imagePrograms = []string{"sh", "bash", "ls", "cat", "mv", "mkdir", "grep", "sleep", "true", "tty", "kill", "id",
	"unshare", "nsenter", "chroot", "setsid", "env", "ps", "head", "tail", "wc"}

// Image creates an image from programs of this computer, once: not every test computer reaches a registry.
func Image(engine string) (string, error) {
	once.Lock()
	defer once.Unlock()
	files := map[string]string{} // by path in the image
	self, _ := os.Executable()
	for _, name := range append(slices.Clone(imagePrograms), self) {
		path, err := exec.LookPath(name)
		if err != nil {
			continue
		}
		if name != self {
			files["/usr/bin/"+name] = path
		}
		libraries, _ := exec.Command("ldd", path).Output() // also of the test's own program, if it needs some
		for _, library := range regexp.MustCompile(`/\S+`).FindAllString(string(libraries), -1) {
			files[filepath.Clean(library)] = library
		}
	}
	raw, err := archive(files)
	if err != nil {
		return "", err
	}
	sum := sha256.Sum256(raw)
	image := "localhost/ahphub-test:" + hex.EncodeToString(sum[:8])
	if exec.Command(engine, "image", "inspect", image).Run() == nil {
		return image, nil
	}
	cmd := exec.Command(engine, "import", "--change", "ENV IMAGE=yes", "--change", "ENV PATH=/opt/image/bin:/usr/bin:/bin", "-", image)
	cmd.Stdin = bytes.NewReader(raw)
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("%w: %s", err, out)
	}
	return image, nil
}

var once sync.Mutex

// archive returns a file system with files and with the contents of every image.
func archive(files map[string]string) ([]byte, error) {
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	for _, dir := range []string{"usr/", "usr/bin/", "etc/", "tmp/", "proc/", "sys/", "dev/", "run/"} {
		if err := w.WriteHeader(&tar.Header{Name: dir, Typeflag: tar.TypeDir, Mode: 0o755}); err != nil {
			return nil, err
		}
	}
	link := &tar.Header{Name: "bin", Linkname: "usr/bin", Typeflag: tar.TypeSymlink, Mode: 0o777}
	if err := w.WriteHeader(link); err != nil {
		return nil, err
	}
	files["/etc/shadow"], files["/etc/hostname"] = "/dev/null", "/dev/null"
	at := make([]string, 0, len(files))
	for path := range files {
		at = append(at, path)
	}
	slices.Sort(at)
	for _, path := range at {
		f, err := os.ReadFile(files[path])
		if err == nil {
			err = w.WriteHeader(&tar.Header{Name: path[1:], Mode: 0o755, Size: int64(len(f))})
		}
		if err == nil {
			_, err = w.Write(f)
		}
		if err != nil {
			return nil, err
		}
	}
	return b.Bytes(), w.Close()
}
