package box

import (
	"flag"
	"os"
	"os/exec"
	"testing"

	"github.com/ahphub/ahphub/hub/sandbox"
)

var program = flag.String("program", "", "run this ahphub in boxes, in place of the test's own program")

func benchWorld(b *testing.B) *world {
	return newWorld(b, func(c *Config) {
		if *program != "" {
			c.Program = *program
		}
	})
}

// benchContainers is benchWorld with containers.
func benchContainers(b *testing.B) *world {
	return newContainers(b, func(c *Config) {
		if *program != "" {
			c.Program = *program
		}
	})
}

// BenchmarkStart measures a program from start to end: outside, in a running box, as the first program of a box, the
// same in a container, and with Landlock alone.
func BenchmarkStart(b *testing.B) {
	w := benchWorld(b)
	run := func(b *testing.B, start func(*exec.Cmd) error) {
		for b.Loop() {
			cmd := exec.Command("/bin/true")
			if err := start(cmd); err != nil {
				b.Fatal(err)
			}
			if err := cmd.Wait(); err != nil {
				b.Fatal(err)
			}
		}
	}
	b.Run("outside", func(b *testing.B) { run(b, (*exec.Cmd).Start) })
	b.Run("box", func(b *testing.B) { run(b, func(cmd *exec.Cmd) error { return w.Start(cmd, w.policy) }) })
	b.Run("first", func(b *testing.B) {
		run(b, func(cmd *exec.Cmd) error { w.End(w.policy.Session); return w.Start(cmd, w.policy) })
	})
	b.Run("container", func(b *testing.B) {
		c := benchContainers(b)
		run(b, func(cmd *exec.Cmd) error { return c.Start(cmd, c.policy) })
	})
	b.Run("firstOfContainer", func(b *testing.B) {
		c := benchContainers(b)
		run(b, func(cmd *exec.Cmd) error { c.End(c.policy.Session); return c.Start(cmd, c.policy) })
	})
	b.Run("landlock", func(b *testing.B) {
		p := *w.policy
		p.Session, p.Mode = "s2", sandbox.Landlock
		if why := w.Report().Landlock; why != "" {
			b.Skip(why)
		}
		run(b, func(cmd *exec.Cmd) error { return w.Start(cmd, &p) })
	})
	b.Run("firstWithNetwork", func(b *testing.B) {
		if r := w.Report(); r.Open != "" {
			b.Skip(r.Open)
		}
		w.policy.Network = sandbox.Open
		run(b, func(cmd *exec.Cmd) error { w.End(w.policy.Session); return w.Start(cmd, w.policy) })
	})
}

// BenchmarkBuild measures how long Go takes to build net/http and its dependencies without a cache.
func BenchmarkBuild(b *testing.B) {
	w := benchWorld(b)
	run := func(b *testing.B, start func(*exec.Cmd) error) {
		for b.Loop() {
			cmd := exec.Command("go", "build", "-a", "net/http")
			cmd.Dir, cmd.Stderr = w.dir, os.Stderr
			cmd.Env = append(os.Environ(), "HOME="+w.cfg.Home, "GOCACHE="+w.dir+"/cache", "GOFLAGS=",
				"GOTOOLCHAIN=local")
			if err := start(cmd); err != nil {
				b.Fatal(err)
			}
			if err := cmd.Wait(); err != nil {
				b.Fatal(err)
			}
		}
	}
	b.Run("outside", func(b *testing.B) { run(b, (*exec.Cmd).Start) })
	b.Run("box", func(b *testing.B) { run(b, func(cmd *exec.Cmd) error { return w.Start(cmd, w.policy) }) })
}
