package box

import (
	"archive/tar"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/ahphub/ahphub/hub/sandbox"
)

// imagePrograms are what the tests' image has of this computer.
var imagePrograms = []string{"sh", "bash", "ls", "cat", "grep", "sleep", "true", "tty", "kill", "id", "unshare", "nsenter",
	"chroot", "setsid", "env", "mkdir", "touch", "ps"}

// testImage makes an image of programs of this computer, for no registry can be reached. It is made once.
var testImage = sync.OnceValues(func() (string, error) {
	list := engines()
	if len(list) == 0 {
		return "", errNoEngine
	}
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
		libraries, _ := exec.Command("ldd", path).Output() // of the test's own program too, where it needs some
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
	e := list[0]
	if _, err := e.environmentOf(image); err == nil {
		return image, nil
	}
	cmd := e.command("import", "--change", "ENV IMAGE=yes", "--change", "ENV PATH=/opt/image/bin:/usr/bin:/bin", "-", image)
	cmd.Stdin = bytes.NewReader(raw)
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("%w: %s", err, out)
	}
	return image, nil
})

// archive makes a file system of files and of what every image has.
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

// newContainers returns a world whose session runs in a container. It skips the test where those do not work.
func newContainers(t testing.TB, change ...func(*Config)) *world {
	t.Helper()
	image, err := testImage()
	if err != nil {
		t.Skip("containers are not tried: ", err)
	}
	w := newWorldOf(t, sandbox.Container, change...)
	w.policy.Image = image
	if _, err := w.findEngine(image); err != nil {
		t.Skip("containers do not work here: ", err)
	}
	return w
}

func TestProgramsOfOneSessionShareContainer(t *testing.T) {
	w := newContainers(t)
	serve, _ := w.shell("echo $$ >/tmp/pid; exec cat")
	in, err := serve.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Start(serve, w.policy); err != nil {
		t.Fatal(err)
	}
	w.run("until [ -s /tmp/pid ]; do sleep 0.01; done; kill -0 $(cat /tmp/pid)")
	if got := w.run("echo $IMAGE $PATH; pwd"); !strings.HasPrefix(got, "yes /opt/image/bin:/usr/bin:/bin:") ||
		!strings.HasSuffix(got, "\n"+w.dir) {
		t.Errorf("a program has the environment %q", got)
	}
	w.run("echo made >made")
	if w.read(w.dir+"/made") != "made\n" {
		t.Error("what a program writes is not in the session's directory")
	}
	in.Close()
	if err := serve.Wait(); err != nil {
		t.Error(err)
	}
	raw, err := io.ReadAll(strings.NewReader(w.refused2("exit 42")))
	if err != nil || string(raw) != "exit status 42" {
		t.Error(string(raw))
	}
}

// refused2 returns how a script ends that fails.
func (w *world) refused2(script string) string {
	w.t.Helper()
	cmd, _ := w.shell(script)
	if err := w.Start(cmd, w.policy); err != nil {
		w.t.Fatal(err)
	}
	return fmt.Sprint(cmd.Wait())
}
