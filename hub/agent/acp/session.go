package acp

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"github.com/ahphub/ahphub/hub/agent"
	"github.com/ahphub/ahphub/hub/ahp"
	"github.com/ahphub/ahphub/hub/guard"
)

// session is one conversation's worker. Each of its chats is a session of the program; the program
// is started when a turn needs it and stopped when idle.
type session struct {
	prog   Program
	launch func(context.Context, agent.Spec) (launcher, error)
	guard  *guard.Guard
	memory *Memory
	limits Limits
	spec   agent.Spec
	log    *slog.Logger
	dir    string // the program's working directory

	starting chan struct{} // held while the program starts or stops
	wg       sync.WaitGroup

	mu             sync.Mutex
	peer           *peer // nil while no program runs
	users          int   // running turns
	idle           *time.Timer
	closed         bool
	chats          map[ahp.URI]chat
	turns          map[string]*player // running turns, by the program's session
	truncatedTurns map[string]bool    // turns that ended before their answer did

	creatingFirstChat atomic.Bool       // its first chat is being made
	previousDefaults  map[string]string // values of the settings in the previous new session

	commands   []agent.SlashCommand
	complaints []string // about settings that were not accepted, for the next turn
}

// chat is the record of a chat, kept across restarts.
type chat struct {
	Session string `json:"session"` // the program's id
	Turn    string `json:"turn"`    // the last prompted turn

	Cost float64 `json:"cost,omitempty"` // of the session, as last reported
}

const mostTruncated = 1000

func newSession(b Backend, spec agent.Spec) (*session, error) {
	s := &session{prog: b.Program, launch: b.launcher, guard: b.Guard, memory: b.Memory, limits: b.Limits.withDefaults(),
		spec: spec, dir: cmp.Or(spec.Work, spec.Data),
		log:      spec.Log,
		starting: make(chan struct{}, 1), chats: map[ahp.URI]chat{}, turns: map[string]*player{},
		truncatedTurns: map[string]bool{}}
	if s.log == nil {
		s.log = slog.New(slog.DiscardHandler)
	}
	s.log = s.log.With("agent", b.Program.Name)
	s.previousDefaults = map[string]string{}
	for key, p := range b.Memory.get().Settings {
		s.previousDefaults[key] = plain(p.Default)
	}
	if len(spec.Dirs) > 0 {
		s.dir = spec.Dirs[0]
	}
	raw, err := os.ReadFile(s.file())
	if errors.Is(err, os.ErrNotExist) {
		return s, nil
	}
	if err == nil {
		err = json.Unmarshal(raw, &s.chats)
	}
	if err != nil {
		s.log.Warn("cannot read an agent's chats; they continue from their transcripts", "err", err)
		s.chats = map[ahp.URI]chat{}
	}
	return s, nil
}

func (s *session) file() string { return filepath.Join(s.spec.Data, "acp.json") }

// isKnown reports whether the program served this session before.
func (s *session) isKnown() bool { return len(s.chats) > 0 }

// Prompt plays one turn.
func (s *session) Prompt(ctx context.Context, t agent.Turn) error {
	p, err := s.acquire(ctx)
	if err != nil {
		return asFailure(ctx, err)
	}
	defer s.release()
	id, fresh, err := s.join(ctx, p, t)
	if err != nil {
		return asFailure(ctx, err)
	}
	notes := append(s.takeComplaints(), s.settle(ctx, p, id, t.Message, fresh)...)
	if mode := s.unaskedMode(p, id); t.Guest && mode != "" {
		return &agent.Failure{Resumable: true, Message: s.prog.title() + " is in the mode " + mode +
			", in which it does not ask about everything. A guest's requests must be asked about. The owner can " +
			"choose another mode; then send the message again."}
	}
	prompt, more := s.prompt(p, t, fresh)
	r := newPlayer(s, p, id, t)
	s.enter(r)
	defer s.leave(r)
	return r.play(ctx, prompt, append(notes, more...))
}

func asFailure(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if _, ok := errors.AsType[*agent.Failure](err); ok {
		return adviseResume(err)
	}
	return &agent.Failure{Message: err.Error(), Resumable: true}
}

// Close stops the program.
func (s *session) Close() error {
	s.mu.Lock()
	s.closed = true
	s.disarm()
	s.mu.Unlock()
	s.wg.Wait() // it may be stopping already
	s.starting <- struct{}{}
	defer func() { <-s.starting }()
	s.stop()
	return nil
}

func (s *session) stop() {
	s.mu.Lock()
	p := s.peer
	s.peer = nil
	s.mu.Unlock()
	if p != nil {
		p.close()
	}
}

// acquire returns the running program, starting it if needed. It runs until release.
func (s *session) acquire(ctx context.Context) (*peer, error) {
	select {
	case s.starting <- struct{}{}:
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	defer func() { <-s.starting }()
	s.mu.Lock()
	p := s.peer
	s.disarm()
	s.mu.Unlock()
	stale := p != nil && s.memory.newer(p.given) && s.unused()
	if p == nil || p.isGone() || stale {
		s.stop()
		var err error
		if p, err = s.start(ctx); err != nil {
			return nil, err
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.peer = p
	s.users++
	return p, nil
}

func (s *session) release() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.users--
	if s.users > 0 || s.closed || s.idle != nil {
		return
	}
	s.wg.Add(1)
	s.idle = time.AfterFunc(s.limits.Idle, func() { defer s.wg.Done(); s.sleep() })
}

// disarm keeps an idle program running. s.mu is held.
func (s *session) disarm() {
	if s.idle != nil && s.idle.Stop() {
		s.wg.Done()
	}
	s.idle = nil
}

// sleep stops a program that was idle for a while.
func (s *session) sleep() {
	select {
	case s.starting <- struct{}{}:
	default:
		return // a turn needs it again
	}
	defer func() { <-s.starting }()
	s.mu.Lock()
	busy := s.users > 0
	s.mu.Unlock()
	if !busy {
		s.log.Info("stopping an idle agent")
		s.stop()
	}
}

// start runs the program and initializes it.
func (s *session) start(ctx context.Context) (*peer, error) {
	prog, given := s.memory.apply(s.prog)
	prog, err := addSecrets(ctx, prog, s.spec)
	if err != nil {
		return nil, notStarted(s.prog, err)
	}
	launch, err := s.launch(ctx, s.spec)
	if err != nil {
		return nil, notStarted(s.prog, err)
	}
	p, err := startPeer(prog, launch, s.limits, s.dir, s.log, s.handle)
	if err != nil {
		return nil, notStarted(s.prog, err)
	}
	p.given = given
	s.spec.Tell("Waiting for " + s.prog.title())
	if err := p.introduce(ctx, s.limits.Start, len(s.spec.Dirs) > 0); err != nil {
		p.close()
		return nil, err
	}
	s.memory.learnAbout(p.about)
	s.tellLogins(p)
	return p, nil
}

// tellLogins reports the login methods at once: without a login there will be no settings to report
// with them.
func (s *session) tellLogins(p *peer) {
	s.spec.Host.Learn(agent.Offer{Logins: logins(s.prog.Name, p.about.AuthMethods)})
}

func (s *session) unused() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.users == 0
}

// introduce negotiates the version and learns the program's capabilities.
func (p *peer) introduce(ctx context.Context, limit time.Duration, files bool) error {
	ctx, cancel := context.WithTimeoutCause(ctx, limit, errSlow)
	defer cancel()
	hello := initializeParams{ProtocolVersion: version,
		ClientInfo: implementation{Name: "ahphub", Title: "ahphub", Version: "1"}}
	hello.ClientCapabilities.FS.ReadTextFile = files && !p.prog.NoRead
	hello.ClientCapabilities.FS.WriteTextFile = files
	hello.ClientCapabilities.Terminal, hello.ClientCapabilities.Auth.Terminal = true, true
	if err := p.call(ctx, "initialize", hello, &p.about); err != nil {
		return p.notIntroduced(ctx, err)
	}
	if p.about.ProtocolVersion != version {
		return otherVersion(p.prog, p.about.ProtocolVersion)
	}
	p.log.Info("started an agent", "name", p.about.AgentInfo.Name, "version", p.about.AgentInfo.Version, "pid",
		p.proc.cmd.Process.Pid)
	return nil
}
