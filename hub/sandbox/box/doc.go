// Package box runs the programs of a session in namespaces of their own, as a sandbox.Policy describes: files,
// processes, network and pseudo terminals. bubblewrap makes the namespaces, nsenter enters them, and pasta
// connects them to the network; or podman or docker makes them of an image. A holder, which is this program, keeps them and hands out terminals and relayed
// connections. Everything inside is taken for hostile, the holder's messages included.
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
	Dir     string       // where the private files of boxes are, below the data directory; made when first needed
	Program string       // this program, of which package enter runs inside a box
	Home    string       // the user's home directory
	Path    string       // PATH, whose directories below Home are readable in a box
	Guard   *guard.Guard // refuses the data directory to policies
	Log     *slog.Logger

	// Services are where relays by name lead. Each takes over its connection, and returns once that is closed.
	Services map[string]func(*sandbox.Policy, net.Conn)

	Image string // of containers, which are tried with it; "": those of sessions' policies alone

	Limits Limits        // of each box, where control groups can be made
	ABI    int           // the newest version of Landlock that is used; zero is the kernel's
	Linger time.Duration // how long a box stays after its last program; zero is a minute
	Spare  int64         // bytes that stay free on the disk of Dir: with less, programs are paused; zero: none

	// Tell takes what the people of a session are told of its programs; nil: only its terminals are told.
	Tell func(session, text string)
}

// Limits bounds what the programs of one box use of the computer. Zero: no bound.
type Limits struct {
	Memory    int64 // bytes
	Processes int   // and threads
	Disk      int64 // bytes that they write; watched, not refused by the kernel
}

// Report says what works on this computer.
type Report struct {
	Namespace string // why boxes do not work here and what to do about it; "" when they do
	Open      string // likewise of their network
	Container string // why containers do not work here; "" when they do
	Engine    string // of containers, when they work

	// ContainerOpen says why containers have no network; "" when they have.
	ContainerOpen string

	Landlock string // why Landlock alone does not work here; "" when it does
	Groups   string // why the memory and processes of boxes are not bounded; "" when they are
	ABI      int    // the version of Landlock in the kernel
}

// Works reports whether boxes work here.
func (r Report) Works() bool { return r.Namespace == "" }

const (
	programs  = "/run/ahphub"        // the hub's program in a box
	inside    = programs + "/ahphub" // by this path
	startTime = 10 * time.Second     // in which a box is ready
	mostConns = 256                  // relayed at once, for each box
)
