// Package box runs the programs of a session in separate namespaces, as a sandbox.Policy describes: files, processes,
// network and pseudo terminals. bubblewrap creates the namespaces, nsenter enters them, and pasta connects them to the
// network; or podman or docker creates them from an image. A holder, which is this program, keeps them and provides
// terminals and relayed connections. Everything inside is untrusted, including the holder's messages.
package box

import (
	"log/slog"
	"net"
	"time"

	"github.com/ahphub/ahphub/hub/guard"
	"github.com/ahphub/ahphub/hub/sandbox"
)

// Config configures Boxes.
type Config struct {
	Dir     string       // private files of boxes, in the data directory; created when first needed
	Program string       // this program, whose package enter runs inside a box
	Home    string       // the user's home directory
	Path    string       // PATH; its directories below Home are readable in a box
	Guard   *guard.Guard // keeps the data directory out of policies
	Log     *slog.Logger

	// Services are the targets of relays by name. Each serves its connection, and returns once it is closed.
	Services map[string]func(*sandbox.Policy, net.Conn)

	Image string // to probe containers with; "": only images of sessions' policies

	Limits Limits        // of each box, if control groups can be created
	ABI    int           // the highest Landlock version to use; zero is the kernel's
	Linger time.Duration // how long a box outlives its last program; zero is a minute
	Spare  int64         // bytes kept free on the disk of Dir: with less, programs are paused; zero: none

	// Tell receives messages for the people of a session about its programs; nil: only its terminals show them.
	Tell func(session, text string)
}

// Limits bounds the resources of the programs in one box. Zero: no limit.
type Limits struct {
	Memory    int64 // bytes
	Processes int   // and threads
	Disk      int64 // bytes written; watched, not enforced by the kernel
}

// Report describes which sandboxes work on this computer.
type Report struct {
	Namespace string // why boxes do not work here, and what to do about it; "" if they do
	Open      string // the same for their network
	Container string // why containers do not work here; "" if they do
	Engine    string // of containers, if they work

	// ContainerOpen is why containers have no network; "" if they have one.
	ContainerOpen string

	Landlock string // why Landlock alone does not work here; "" if it does
	Groups   string // why memory and processes of boxes are not limited; "" if they are
	ABI      int    // the kernel's version of Landlock
}

// Works reports whether boxes work here.
func (r Report) Works() bool { return r.Namespace == "" }

const (
	programs  = "/run/ahphub"        // directory of the hub's program in a box
	inside    = programs + "/ahphub" // path of the hub's program in a box
	startTime = 10 * time.Second     // timeout for a box to become ready
	mostConns = 256                  // concurrent relayed connections of each box
)
