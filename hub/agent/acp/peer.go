package acp

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"sync"

	"github.com/ahphub/ahphub/hub/jsonrpc"
	"github.com/ahphub/ahphub/hub/texts"
)

const (
	mostLine     = 16 << 20 // bytes of one message
	mostQueued   = 64 << 20 // bytes waiting for a program that does not read
	mostRequests = 64       // concurrent requests of the program
	mostNoise    = 20       // lines that are not messages, before they are no longer logged
)

// peer is a running program and its connection.
type peer struct {
	prog   Program
	log    *slog.Logger
	proc   *process
	conn   *jsonrpc.Conn
	handle func(*peer, jsonrpc.Message)
	about  initializeResult

	ctx    context.Context // ends with the program
	cancel context.CancelFunc
	wg     sync.WaitGroup
	out    outbox
	slots  chan struct{}

	mu    sync.Mutex
	noise []string // first lines of output that is not a message
	terms terminals

	// Guarded by the session's lock.
	open     map[string]bool // its sessions that were made or loaded
	settings map[string][]setting
	given    int    // counter of the tokens at its start
	spare    string // a session without a chat yet

	replays replays
}

// startPeer runs a program. handle gets its requests and notifications in order of arrival.
func startPeer(prog Program, launch launcher, limits Limits, dir string, log *slog.Logger,
	handle func(*peer, jsonrpc.Message)) (*peer, error) {
	proc, err := startProcess(prog, launch, limits, dir, log)
	if err != nil {
		return nil, err
	}
	p := &peer{prog: prog, log: log, proc: proc, handle: handle, slots: make(chan struct{}, mostRequests),
		open: map[string]bool{}, settings: map[string][]setting{}, terms: terminals{all: map[string]*term{}}}
	p.ctx, p.cancel = context.WithCancel(context.Background())
	p.out.more = make(chan struct{}, 1)
	p.conn = jsonrpc.NewConn(jsonrpc.Config{Send: p.send, Handle: func(m jsonrpc.Message) { p.handle(p, m) }})
	p.wg.Go(proc.wait)
	p.wg.Go(p.read)
	p.wg.Go(p.write)
	return p, nil
}

// read passes on messages, one line each, until the program ends; then all pending calls fail.
func (p *peer) read() {
	r := bufio.NewReaderSize(p.proc.stdout, 64<<10)
	for {
		line, err := readLine(r)
		if line = bytes.TrimSpace(line); len(line) > 0 {
			p.receive(line)
		}
		if err != nil {
			p.ended(err)
			return
		}
	}
}

func (p *peer) receive(line []byte) {
	if line[0] == '{' && json.Valid(line) {
		p.conn.Receive(bytes.ToValidUTF8(line, []byte("\uFFFD"))) // agents pass on the content of files
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.noise) < mostNoise {
		p.noise = append(p.noise, texts.ElideBytes(string(line), 200))
		p.log.Warn("an agent printed a line that is not a message", "line", texts.ElideBytes(string(line), 200))
	}
}

func (p *peer) firstNoise() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.noise) == 0 {
		return ""
	}
	return p.noise[0]
}

// ended makes sure that a program which closed its output, or exceeded a limit, ends.
func (p *peer) ended(err error) {
	if errors.Is(err, errLine) {
		p.log.Warn("stopped an agent", "err", err)
	}
	p.proc.stop()
	_ = p.proc.stdout.Close()
	if !errors.Is(err, errLine) {
		err = nil
	}
	p.conn.Close(err)
	p.cancel()
}

var errLine = errors.New("it sent a message of over 16 MB")

// readLine returns a line in memory of its own, because messages keep parts of it.
func readLine(r *bufio.Reader) ([]byte, error) {
	var line []byte
	for {
		part, err := r.ReadSlice('\n')
		line = append(line, part...)
		if len(line) > mostLine {
			return nil, errLine
		}
		if !errors.Is(err, bufio.ErrBufferFull) {
			return line, err
		}
	}
}

// outbox holds messages that the program has not read.
type outbox struct {
	mu     sync.Mutex
	frames [][]byte
	size   int
	more   chan struct{}
}

func (p *peer) send(frame []byte) {
	p.out.mu.Lock()
	p.out.frames = append(p.out.frames, append(frame, '\n'))
	p.out.size += len(frame)
	stuck := p.out.size > mostQueued
	p.out.mu.Unlock()
	if stuck {
		p.log.Warn("an agent does not read its input; killing it")
		p.proc.kill()
		return
	}
	select {
	case p.out.more <- struct{}{}:
	default:
	}
}

func (p *peer) write() {
	for {
		select {
		case <-p.out.more:
		case <-p.ctx.Done():
			return
		}
		p.out.mu.Lock()
		frames := p.out.frames
		p.out.frames, p.out.size = nil, 0
		p.out.mu.Unlock()
		for _, f := range frames {
			if _, err := p.proc.stdin.Write(f); err != nil {
				<-p.ctx.Done() // the reader finds the cause
				return
			}
		}
	}
}

// call sends a request to the program and decodes its answer into result.
func (p *peer) call(ctx context.Context, method string, params, result any) error {
	raw, err := json.Marshal(params)
	if err != nil {
		return err
	}
	answer, err := p.conn.Call(ctx, method, raw)
	if err != nil || result == nil || len(answer) == 0 {
		return err
	}
	return json.Unmarshal(answer, result)
}

func (p *peer) notify(method string, params any) {
	if raw, err := json.Marshal(params); err == nil {
		p.conn.Notify(method, raw)
	}
}

// serve answers a request outside of the reader's goroutine.
func (p *peer) serve(m jsonrpc.Message, do func(context.Context) (any, error)) {
	select {
	case p.slots <- struct{}{}:
	default:
		p.fail(m, errors.New("too many requests at once"))
		return
	}
	p.wg.Go(func() {
		defer func() { <-p.slots }()
		result, err := do(p.ctx)
		if err != nil {
			p.fail(m, err)
			return
		}
		p.reply(m, result)
	})
}

func (p *peer) reply(m jsonrpc.Message, result any) {
	raw, err := json.Marshal(result)
	if err != nil {
		p.fail(m, err)
		return
	}
	p.send(jsonrpc.AppendResult(nil, m.ID, raw))
}

func (p *peer) fail(m jsonrpc.Message, err error) {
	e, ok := errors.AsType[*jsonrpc.Error](err)
	if !ok {
		e = &jsonrpc.Error{Code: jsonrpc.CodeInternal, Message: err.Error()}
	}
	p.send(jsonrpc.AppendError(nil, m.ID, e))
}

// isGone reports whether the program has ended.
func (p *peer) isGone() bool { return p.ctx.Err() != nil || p.proc.killed.Load() || p.proc.isGone() }

// close stops the program and waits for everything that belongs to it; the waiters of its terminals
// kill those.
func (p *peer) close() {
	p.proc.stop()
	p.wg.Wait()
}
