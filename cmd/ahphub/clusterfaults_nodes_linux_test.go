package main

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/ahphub/ahphub/hub/cluster"
	"github.com/ahphub/ahphub/hub/cluster/peers"
	"github.com/ahphub/ahphub/hub/loopback/loopbacktest"
)

// nodeArgument makes the test binary run as a node or a cluster command. The name of a planted
// fault follows it.
const nodeArgument = "test-node"

const trialToken = "the-owner-of-a-cluster-under-test-0123456789"

// Environment variables of test nodes.
const (
	versionVariable = "AHPHUB_TEST_VERSION" // version of its batches
	clockVariable   = "AHPHUB_TEST_CLOCK"   // error of its clock in seconds
)

// runTestNode runs ahphub with small snapshots and an optional planted fault. Lines on standard
// input are commands to the test node.
func runTestNode(plant string, args []string) {
	var slow atomic.Bool
	hooks.config = func(c *cluster.Config) {
		c.Keep, c.State = 64, slowState{c.State, &slow}
		if v, err := strconv.ParseUint(os.Getenv(versionVariable), 10, 16); err == nil {
			c.Version = uint16(v)
		}
	}
	hooks.opened = func(n *node) { go takeOrders(n, &slow) }
	if by := os.Getenv(clockVariable); by != "" {
		if err := stepClock(by); err != nil {
			fmt.Fprintln(os.Stderr, "ahphub: the clock was not changed:", err)
		}
	}
	plants[plant](args)
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := command(ctx, args, os.Stdout, os.Stderr); err != nil {
		fmt.Fprintln(os.Stderr, "ahphub:", err)
		os.Exit(1)
	}
	os.Exit(0)
}

func takeOrders(n *node, slow *atomic.Bool) {
	for scan := bufio.NewScanner(os.Stdin); scan.Scan(); {
		switch what, how, _ := strings.Cut(scan.Text(), " "); what {
		case "slow":
			slow.Store(how == "on")
		case "snapshot":
			n.log.Info("a snapshot was asked for", "err", n.raft.Compact())
		case "clock":
			if err := stepClock(how); err != nil {
				n.log.Error("the clock was not changed", "err", err)
			}
		}
	}
}

// trialNode is a node in its own process.
type trialNode struct {
	name, data string
	web, port  string // listening addresses for visitors and nodes
	address    string // address for other nodes: the proxy in front of port
	at         int    // index of the node
	log        string // file
	mu         sync.Mutex
	cmd        *exec.Cmd
	exited     chan struct{} // closed once the process has exited
	stopped    bool          // by SIGSTOP

	orders io.Writer // standard input of the process

	mounted bool // its data is on its own disk
	slow    bool // its disk is slow
	damaged bool // its disk was damaged
	clock   int  // error of its clock in seconds
	version int  // version of its batches; 0: the program's default
}

func (n *trialNode) pid() int {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.cmd == nil || n.cmd.Process == nil {
		return 0
	}
	return n.cmd.Process.Pid
}

func (n *trialNode) signal(s syscall.Signal) {
	n.mu.Lock()
	defer n.mu.Unlock()
	_ = n.cmd.Process.Signal(s)
	n.stopped = s == syscall.SIGSTOP
}

// tell sends a command to the process, if it is running.
func (n *trialNode) tell(order string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	_, _ = fmt.Fprintln(n.orders, order)
}

// kill kills the process.
func (n *trialNode) kill() {
	n.signal(syscall.SIGKILL)
	<-n.exited
}

// stop stops the process like systemd, and kills it after a timeout.
func (n *trialNode) stop() {
	n.signal(syscall.SIGTERM)
	select {
	case <-n.exited:
	case <-time.After(10 * time.Second):
		n.kill()
	}
}

func (n *trialNode) isDead() bool {
	select {
	case <-n.exited:
		return true
	default:
		return false
	}
}

// ask returns the status code for a path; 0 if there is no answer.
func (n *trialNode) ask(path string) int {
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Second)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+n.web+path, nil)
	if err != nil {
		return 0
	}
	res, err := http.DefaultClient.Do(r)
	if err != nil {
		return 0
	}
	res.Body.Close()
	return res.StatusCode
}

// tail returns the end of the node's log.
func (n *trialNode) tail() string {
	b, _ := os.ReadFile(n.log)
	if len(b) > 8000 {
		b = b[len(b)-8000:]
	}
	return string(b)
}

// trialNodes is a cluster of three nodes with proxies between them.
type trialNodes struct {
	*testing.T
	dir   string
	plant string
	list  []*trialNode
	links [3][3]*flakyLink // indexed by source and destination node
}

func startTrialNodes(t *testing.T, plant string) *trialNodes {
	t.Helper()
	c := &trialNodes{T: t, dir: t.TempDir(), plant: plant}
	if err := os.Mkdir(c.work(), 0o700); err != nil {
		t.Fatal(err)
	}
	for i, name := range []string{"a", "b", "c"} {
		n := &trialNode{name: name, at: i, data: filepath.Join(c.dir, name), web: loopbacktest.Address(t), port: loopbacktest.Address(t),
			log: filepath.Join(c.dir, name+".log")}
		c.list = append(c.list, n)
		c.mountDisk(n)
		c.proxy(n)
	}
	t.Cleanup(c.report)
	for i, n := range c.list {
		if i > 0 {
			c.join(n)
		}
		c.start(n)
		if i == 0 {
			c.await("the first node to lead", func() bool { return n.ask("/leaderz") == http.StatusOK })
		}
	}
	c.await("three nodes that vote", func() bool {
		return strings.Contains(c.command(c.list[0], "cluster", "status", "--data", c.list[0].data), "may_fail=1")
	})
	return c
}

// work returns the working directory of sessions.
func (c *trialNodes) work() string { return filepath.Join(c.dir, "work") }

// report prints the nodes' logs if the test failed.
func (c *trialNodes) report() {
	if !c.Failed() {
		return
	}
	for _, n := range c.list {
		c.Logf("node %s logged\n%s", n.name, n.tail())
	}
}

// proxy forwards connections from other nodes to n, through one link per source.
func (c *trialNodes) proxy(n *trialNode) {
	c.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		c.Fatal(err)
	}
	n.address = l.Addr().String()
	for from := range c.links {
		link := &flakyLink{to: n.port, conns: map[net.Conn]bool{}}
		c.links[from][n.at] = link
		c.Cleanup(link.cut)
	}
	c.Cleanup(func() { l.Close() })
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				from := c.dialer(conn)
				if from < 0 { // from a command, or from a node that died meanwhile
					from = n.at
				}
				c.links[from][n.at].carry(conn)
			}()
		}
	}()
}

var socketLink = regexp.MustCompile(`^socket:\[(\d+)\]$`)

// dialer returns the index of the node that opened a connection, or -1.
func (c *trialNodes) dialer(conn net.Conn) int {
	far, ok := conn.RemoteAddr().(*net.TCPAddr)
	near, isTCP := conn.LocalAddr().(*net.TCPAddr)
	if !ok || !isTCP {
		return -1
	}
	table, err := os.ReadFile("/proc/net/tcp")
	if err != nil {
		return -1
	}
	own, other, inode := fmt.Sprintf("0100007F:%04X", far.Port), fmt.Sprintf("0100007F:%04X", near.Port), ""
	for scan := bufio.NewScanner(bytes.NewReader(table)); scan.Scan(); {
		if f := strings.Fields(scan.Text()); len(f) > 9 && f[1] == own && f[2] == other { // the port may be used by other connections
			inode = f[9]
		}
	}
	for i, n := range c.list {
		dir := fmt.Sprintf("/proc/%d/fd", n.pid())
		files, _ := os.ReadDir(dir)
		for _, f := range files {
			to, _ := os.Readlink(filepath.Join(dir, f.Name()))
			if m := socketLink.FindStringSubmatch(to); m != nil && m[1] == inode {
				return i
			}
		}
	}
	return -1
}

// start starts a node with its existing data.
func (c *trialNodes) start(n *trialNode) {
	c.Helper()
	args := []string{"serve", "--cluster", "--listen", n.web, "--data", n.data, "--agent", "shell", "--cluster-name", n.name,
		"--cluster-address", n.address, "--cluster-listen", n.port, "--log-format", "text", "--log-level", "warn"}
	cmd := exec.Command(os.Args[0], append([]string{nodeArgument, c.plant}, args...)...)
	cmd.Env, cmd.Dir = c.env(), c.dir
	if n.version > 0 {
		cmd.Env = append(cmd.Env, fmt.Sprint(versionVariable, "=", n.version))
	}
	if n.clock != 0 {
		cmd.Env = append(cmd.Env, fmt.Sprint(clockVariable, "=", n.clock))
	}
	orders, err := cmd.StdinPipe()
	if err != nil {
		c.Fatal(err)
	}
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	log, err := os.OpenFile(n.log, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		c.Fatal(err)
	}
	cmd.Stderr = log
	if err := cmd.Start(); err != nil {
		c.Fatal(err)
	}
	exited := make(chan struct{})
	go func() {
		defer close(exited)
		_ = cmd.Wait() // most processes are killed
		log.Close()
	}()
	n.mu.Lock()
	n.cmd, n.exited, n.stopped, n.orders = cmd, exited, false, orders
	n.mu.Unlock()
	c.Cleanup(func() { _ = cmd.Process.Kill(); <-exited })
}

func (c *trialNodes) env() []string {
	return []string{"HOME=" + c.dir, "PATH=" + os.Getenv("PATH"), "SHELL=/bin/sh", "AHPHUB_TOKEN=" + trialToken, "AHPHUB_SANDBOX=none",
		"TMPDIR=" + c.dir}
}

// command runs an ahphub command on a node's computer.
func (c *trialNodes) command(n *trialNode, args ...string) string {
	out, err := c.try(args...)
	if err != nil {
		c.Fatalf("ahphub %v at %s: %v\n%s", args, n.name, err, out)
	}
	return out
}

func (c *trialNodes) try(args ...string) (string, error) {
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	cmd := exec.CommandContext(ctx, os.Args[0], append([]string{nodeArgument, ""}, args...)...)
	cmd.Env, cmd.Dir = c.env(), c.dir
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// join makes a computer a node. Another node must be up.
func (c *trialNodes) join(n *trialNode) {
	c.Helper()
	var other *trialNode
	for _, o := range c.list {
		if other == nil && o != n && o.cmd != nil && !o.isDead() {
			other = o
		}
	}
	token := c.command(other, "cluster", "token", "--data", other.data)
	c.command(n, "cluster", "join", "--data", n.data, "--name", n.name, "--address", n.address,
		strings.TrimPrefix(strings.TrimSpace(token), "token="))
}

func (c *trialNodes) await(what string, done func() bool) {
	c.Helper()
	for began := time.Now(); !done(); <-time.After(20 * time.Millisecond) {
		if time.Since(began) > 90*time.Second {
			c.Fatalf("there is never %s", what)
		}
	}
}

// leaders returns the nodes that report that they lead.
func (c *trialNodes) leaders() (list []*trialNode) {
	for _, n := range c.list {
		if n.ask("/leaderz") == http.StatusOK {
			list = append(list, n)
		}
	}
	return list
}

// leader waits for a node that leads.
func (c *trialNodes) leader() (leader *trialNode) {
	c.Helper()
	c.await("a node that leads", func() bool {
		if list := c.leaders(); len(list) == 1 {
			leader = list[0]
		}
		return leader != nil
	})
	return leader
}

// others returns all nodes except n.
func (c *trialNodes) others(n *trialNode) (list []*trialNode) {
	for _, o := range c.list {
		if o != n {
			list = append(list, o)
		}
	}
	return list
}

// cut cuts the link from one node to another. With silent, data is swallowed; otherwise connections
// are refused.
func (c *trialNodes) cut(from, to *trialNode, silent bool) {
	for i, l := range []*flakyLink{c.links[from.at][to.at], c.links[to.at][from.at]} {
		l.mu.Lock()
		if silent {
			l.deaf[i] = true
		} else {
			l.down = true
		}
		l.mu.Unlock()
		if !silent {
			l.cut()
		}
	}
}

// heal removes all faults, and starts dead nodes.
func (c *trialNodes) heal() {
	c.Helper()
	for _, row := range c.links {
		for _, l := range row {
			l.mu.Lock()
			was := l.down || l.deaf[0] || l.deaf[1]
			l.down, l.deaf = false, [2]bool{}
			l.mu.Unlock()
			if was {
				l.cut() // swallowed data is lost
			}
		}
	}
	c.mendDisks()
	c.mendClocks()
	for _, n := range c.list {
		if n.isDead() {
			if peers.IsNode(n.data) {
				c.start(n)
			}
			continue
		}
		n.mu.Lock()
		stopped := n.stopped
		n.mu.Unlock()
		if stopped {
			n.signal(syscall.SIGCONT)
		}
	}
	for _, n := range c.list {
		if n.damaged {
			c.rejoin(n)
		}
	}
}

// settle waits until one node leads and all nodes answer.
func (c *trialNodes) settle() {
	c.Helper()
	c.await("one node that leads, and three that answer", func() bool {
		ready := 0
		for _, n := range c.list {
			if n.isDead() {
				c.Fatalf("node %s has ended by itself:\n%s", n.name, n.tail())
			}
			if n.ask("/readyz") == http.StatusOK {
				ready++
			}
		}
		return ready == len(c.list) && len(c.leaders()) == 1
	})
}
