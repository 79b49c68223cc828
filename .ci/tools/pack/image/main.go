// Command image makes an OCI image layout of a root file system, without a daemon, and checks and unpacks one.
//
//	image -rootfs FILE.tar -arch amd64 -version 1.2.3 -to DIR    write DIR
//	image -check DIR -unpack ROOT                                check every digest of DIR, unpack its files into ROOT
package main

import (
	"archive/tar"
	"errors"
	"flag"
	"fmt"
	"io"
	"log"
	"os"
	"path/filepath"
	"strconv"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/google/go-containerregistry/pkg/v1/types"
	"github.com/google/go-containerregistry/pkg/v1/validate"
)

func main() {
	log.SetFlags(0)
	rootfs := flag.String("rootfs", "", "archive of the root file system")
	arch := flag.String("arch", "amd64", "architecture of its programs")
	version := flag.String("version", "", "version of ahphub")
	to := flag.String("to", "", "directory to write the layout into")
	check := flag.String("check", "", "layout to check")
	unpack := flag.String("unpack", "", "directory to unpack the checked layout into")
	flag.Parse()
	var err error
	if *check != "" {
		err = checkLayout(*check, *unpack)
	} else {
		err = writeLayout(*rootfs, *arch, *version, *to)
	}
	if err != nil {
		log.Fatal(err)
	}
}

func writeLayout(rootfs, arch, version, to string) error {
	files, err := tarball.LayerFromFile(rootfs, tarball.WithMediaType(types.OCILayer))
	if err != nil {
		return err
	}
	made := time.Now()
	if epoch, err := strconv.ParseInt(os.Getenv("SOURCE_DATE_EPOCH"), 10, 64); err == nil {
		made = time.Unix(epoch, 0).UTC()
	}
	image := mutate.ConfigMediaType(mutate.MediaType(empty.Image, types.OCIManifestSchema1), types.OCIConfigJSON)
	if image, err = mutate.ConfigFile(image, &v1.ConfigFile{OS: "linux", Architecture: arch, Config: config(version),
		RootFS: v1.RootFS{Type: "layers"}}); err != nil {
		return err
	}
	if image, err = mutate.Append(image, mutate.Addendum{Layer: files,
		History: v1.History{CreatedBy: "debootstrap, and ahphub " + version}}); err != nil {
		return err
	}
	if image, err = mutate.CreatedAt(image, v1.Time{Time: made}); err != nil {
		return err
	}
	if err := os.RemoveAll(to); err != nil {
		return err
	}
	path, err := layout.Write(to, empty.Index)
	if err != nil {
		return err
	}
	return path.AppendImage(image, layout.WithPlatform(v1.Platform{OS: "linux", Architecture: arch}),
		layout.WithAnnotations(map[string]string{"org.opencontainers.image.ref.name": version}))
}

// config runs ahphub as a user without rights, with its data and the sources it works on in volumes.
func config(version string) v1.Config {
	return v1.Config{
		User:       "10001:10001",
		WorkingDir: "/src",
		Entrypoint: []string{"/usr/bin/ahphub"},
		Cmd:        []string{"serve"},
		Env: []string{"PATH=/usr/local/bin:/usr/bin:/bin", "HOME=/home/ahphub", "AHPHUB_DATA=/data",
			"AHPHUB_LISTEN=0.0.0.0:8137"},
		ExposedPorts: map[string]struct{}{"8137/tcp": {}},
		Volumes:      map[string]struct{}{"/data": {}, "/src": {}},
		StopSignal:   "SIGTERM",
		Healthcheck: &v1.HealthConfig{Test: []string{"CMD", "/usr/bin/ahphub", "health"}, Interval: 30 * time.Second,
			Timeout: 5 * time.Second, StartPeriod: 10 * time.Second, Retries: 3},
		Labels: map[string]string{"org.opencontainers.image.title": "ahphub", "org.opencontainers.image.version": version,
			"org.opencontainers.image.licenses": "MIT",
			"org.opencontainers.image.source":   "https://github.com/ahphub/ahphub"},
	}
}

// checkLayout checks that all sizes and digests of a layout hold and that its image is as config has it.
func checkLayout(dir, root string) error {
	index, err := layout.ImageIndexFromPath(dir)
	if err != nil {
		return err
	}
	if err := validate.Index(index); err != nil {
		return fmt.Errorf("%s: %w", dir, err)
	}
	list, err := index.IndexManifest()
	if err != nil {
		return err
	}
	if len(list.Manifests) != 1 {
		return fmt.Errorf("%s has %d images, not one", dir, len(list.Manifests))
	}
	image, err := index.Image(list.Manifests[0].Digest)
	if err != nil {
		return err
	}
	about, err := image.ConfigFile()
	if err != nil {
		return err
	}
	if c := about.Config; c.User != "10001:10001" || c.Healthcheck == nil || len(c.Entrypoint) == 0 {
		return errors.New("the image runs as root, has no health check or starts nothing")
	}
	if root == "" {
		return nil
	}
	files := mutate.Extract(image)
	defer files.Close()
	return unpackInto(files, root)
}

// unpackInto unpacks an archive as root would, device nodes aside.
func unpackInto(from io.Reader, root string) error {
	if err := os.MkdirAll(root, 0o755); err != nil {
		return err
	}
	inside, err := os.OpenRoot(root)
	if err != nil {
		return err
	}
	defer inside.Close()
	archive := tar.NewReader(from)
	for {
		h, err := archive.Next()
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
		if err := unpackOne(inside, h, archive); err != nil {
			return fmt.Errorf("%s: %w", h.Name, err)
		}
	}
}

func unpackOne(root *os.Root, h *tar.Header, content io.Reader) error {
	name := filepath.Clean(h.Name)
	if name == "." {
		return nil
	}
	if err := root.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		return err
	}
	mode := h.FileInfo().Mode()
	switch h.Typeflag {
	case tar.TypeDir:
		if err := root.MkdirAll(name, 0o755); err != nil {
			return err
		}
	case tar.TypeSymlink:
		return root.Symlink(h.Linkname, name)
	case tar.TypeLink:
		return root.Link(filepath.Clean(h.Linkname), name)
	case tar.TypeReg:
		f, err := root.OpenFile(name, os.O_CREATE|os.O_WRONLY|os.O_TRUNC, 0o600)
		if err != nil {
			return err
		}
		if _, err = io.Copy(f, content); err != nil {
			f.Close()
			return err
		}
		if err := f.Close(); err != nil {
			return err
		}
	default:
		return nil
	}
	if err := root.Lchown(name, h.Uid, h.Gid); err != nil {
		return err
	}
	return root.Chmod(name, mode.Perm()|mode&(os.ModeSetuid|os.ModeSetgid|os.ModeSticky))
}
