package host

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"go.uber.org/goleak"

	"github.com/ahphub/ahphub/e2e/oracle"
	"github.com/ahphub/ahphub/e2e/wire"
	"github.com/ahphub/ahphub/hub"
	"github.com/ahphub/ahphub/hub/access"
	"github.com/ahphub/ahphub/hub/agent"
	"github.com/ahphub/ahphub/hub/ahp"
	"github.com/ahphub/ahphub/hub/ahp/dialect"
	"github.com/ahphub/ahphub/hub/host/core"
	"github.com/ahphub/ahphub/hub/host/hosttest"
	"github.com/ahphub/ahphub/hub/ids"
	"github.com/ahphub/ahphub/hub/machine/localtest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(checked{m}) }

// checked fails the package if a host sent something that the schema of a version does not allow.
type checked struct{ m *testing.M }

func (c checked) Run() int { return wire.Main(c.m) }

const session ahp.URI = "ahp-session:/one"

var (
	owner     = access.Owner("Ana")
	commenter = access.Principal{ID: "guest:ben", Name: "Ben", Role: access.RoleCommenter, Session: session}
	other     = access.Principal{ID: "guest:cleo", Name: "Cleo", Role: access.RoleCommenter, Session: session}
	viewer    = access.Principal{ID: "guest:vic", Name: "Vic", Role: access.RoleViewer, Session: session}
	driver    = access.Principal{ID: "guest:dan", Name: "Dan", Role: access.RoleDriver, Session: session, Prompt: true,
		Approve: true}
)

// fake is an agent whose turns are functions.
type fake struct {
	prompt func(context.Context, agent.Turn) error
	open   func(context.Context, agent.Spec) error
	config ahp.SessionConfigSchema // replaces its own
	about  *ahp.AgentCapabilities

	mu     sync.Mutex
	spec   agent.Spec
	turns  []agent.Turn
	closed int
}

func (f *fake) Describe(context.Context) (ahp.AgentInfo, error) {
	return ahp.AgentInfo{DisplayName: "Fake", Description: "for tests", Capabilities: f.about}, nil
}

func (f *fake) Config() ahp.SessionConfigSchema {
	if f.config.Type != "" {
		return f.config
	}
	return ahp.SessionConfigSchema{Type: "object", Properties: map[string]ahp.SessionConfigPropertySchema{
		"approval": {Type: "string", Title: "Approval", Default: json.RawMessage(`"ask"`),
			SessionMutable: ahp.Ptr(true),
			Enum:           []json.RawMessage{json.RawMessage(`"ask"`), json.RawMessage(`"auto"`)}},
		"shell": {Type: "string", Title: "Shell", Default: json.RawMessage(`"sh"`)},
	}}
}

func (f *fake) Open(ctx context.Context, s agent.Spec) (agent.Session, error) {
	f.mu.Lock()
	f.spec = s
	f.mu.Unlock()
	if f.open != nil {
		if err := f.open(ctx, s); err != nil {
			return nil, err
		}
	}
	return f, nil
}

func (f *fake) Prompt(ctx context.Context, t agent.Turn) error {
	f.mu.Lock()
	f.turns = append(f.turns, t)
	f.mu.Unlock()
	if f.prompt == nil {
		return nil
	}
	return f.prompt(ctx, t)
}

func (f *fake) Close() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.closed++
	return nil
}

func (f *fake) prompts() (texts []string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, t := range f.turns {
		texts = append(texts, t.Message.Text)
	}
	return texts
}

// world is a host with one fake agent, in a synctest bubble.
type world struct {
	t       *testing.T
	hub     *hub.Hub
	host    *Host
	agent   *fake
	machine *testMachine
	dir     string
	said    []*hub.Envelope // guarded by the hub
	stop    func()
}

// inWorld runs a test in a bubble, and stops the host at its end.
func inWorld(t *testing.T, f func(*world)) {
	t.Helper()
	inWorldOf(t, Config{}, f)
}

// inWorldOf is inWorld with a configuration of the host.
func inWorldOf(t *testing.T, cfg Config, f func(*world)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, cfg, hub.Config{})
		defer w.stop()
		f(w)
	})
}

func newWorld(t *testing.T, cfg Config, hubCfg hub.Config) *world {
	t.Helper()
	w := &world{t: t, agent: &fake{}, dir: t.TempDir()}
	hubCfg.Derive = func(tx *hub.Tx, e *hub.Envelope) {
		if e.Rejection == "" {
			w.said = append(w.said, e)
		}
		w.host.Derive(tx, e)
	}
	w.hub = hub.New(hubCfg)
	if cfg.DataDir == "" {
		cfg.DataDir = t.TempDir()
	}
	w.machine = newTestMachine(t, cfg.DataDir)
	cfg.Hub, cfg.DefaultDir = w.hub, w.dir
	if cfg.Machine == nil {
		cfg.Machine = w.machine.Machine()
	}
	if cfg.Agents == nil {
		cfg.Agents = map[string]agent.Backend{"fake": w.agent}
	}
	cfg.Agents = localtest.ReachAgents(t, cfg.Agents)
	var err error
	w.host, err = New(cfg)
	w.must(err)
	stop := hosttest.Run(t, w.host)
	w.stop = sync.OnceFunc(func() { stop(); w.checkSaid() })
	return w
}

// checkSaid checks the host's actions and the resulting states against the schema of every version.
func (w *world) checkSaid() {
	channels := map[ahp.URI]hub.ChannelInfo{}
	for _, e := range w.said {
		channels[e.Channel.URI] = e.Channel
		wire.NoteAction(dialect.Context{Resource: e.Channel.URI, Session: e.Channel.Session}, e.Action)
	}
	for uri, ch := range channels {
		if s, _, ok := w.hub.State(uri); ok && s != nil {
			wire.NoteState(dialect.Context{Resource: uri, Session: ch.Session}, s)
		}
	}
}

func (w *world) must(err error) {
	w.t.Helper()
	hosttest.Must(w.t, err)
}

// create creates the session, with its agent open, and returns its owner's client.
func (w *world) create() *client {
	w.t.Helper()
	c := w.createUnused()
	w.must(w.host.Keep(session))
	synctest.Wait()
	return c
}

// createUnused creates a session that is not used yet.
func (w *world) createUnused() *client {
	w.t.Helper()
	c := w.connect(owner, "ana-1")
	w.must(w.host.CreateSession(w.t.Context(), c.caller, ahp.CreateSessionParams{Channel: session}))
	c.subscribe(session, w.chat(), core.AnnotationsURI(session))
	synctest.Wait()
	return c
}

func (w *world) session() *ahp.SessionState {
	state, _ := hub.StateOf[*ahp.SessionState](w.hub, session)
	return state
}

func (w *world) chat() ahp.URI { return w.session().DefaultChat }

func (w *world) chatState() *ahp.ChatState {
	state, _ := hub.StateOf[*ahp.ChatState](w.hub, w.chat())
	return state
}

func (w *world) threads() *ahp.AnnotationsState {
	state, _ := hub.StateOf[*ahp.AnnotationsState](w.hub, core.AnnotationsURI(session))
	return state
}

// client is a connection with a mirror of its subscriptions, maintained by the oracle, which shares
// no code with the program's reducers.
type client struct {
	w      *world
	caller core.Caller
	seq    int64

	mu     sync.Mutex
	mirror *oracle.Mirror
	got    []string // types of actions, and methods of notifications
	notes  []*hub.Notification
}

func (w *world) connect(p access.Principal, id string) *client {
	w.t.Helper()
	conn, err := w.hub.Connect(hub.ConnConfig{Principal: p.ID, ClientID: id, Audience: p.Audience()})
	w.must(err)
	c := &client{w: w, caller: core.Caller{Principal: p, ClientID: id, Conn: conn}, mirror: oracle.NewMirror(ahp.Version)}
	go c.read()
	w.t.Cleanup(func() { conn.Close(errors.New("the test is over")) })
	return c
}

func (c *client) read() {
	for {
		items, err := c.caller.Conn.Next(context.Background(), nil)
		if err != nil {
			return
		}
		c.mu.Lock()
		for _, it := range items {
			c.take(it)
		}
		c.mu.Unlock()
	}
}

func (c *client) take(it hub.Item) {
	for _, s := range it.Snapshots {
		if s.State != nil {
			c.check(c.mirror.Adopt(s.Info.URI, string(s.Info.Kind), wireOf(c.w.t, s.State)))
		}
	}
	if n, ok := it.Put.(*hub.Notification); ok {
		c.notes = append(c.notes, n)
		c.got = append(c.got, n.Method)
	}
	if e := it.Env; e != nil {
		c.got = append(c.got, e.Action.ActionType())
		if a, ok := e.Action.(*ahp.SessionChatUpdatedAction); ok && a.Changes.Resource != nil { // AHP requirement 71
			c.w.t.Errorf("a chat's change names %s as its resource", *a.Changes.Resource)
		}
		if c.mirror.Follows(e.Channel.URI) && e.Rejection == "" {
			c.check(c.mirror.Apply(e.Channel.URI, wireOf(c.w.t, e.Action)))
		}
	}
}

// check reports an error from the reading goroutine.
func (c *client) check(err error) {
	if err != nil {
		c.w.t.Error(err)
	}
}

// wireOf returns a state or an action as sent.
func wireOf(t *testing.T, v any) []byte {
	t.Helper()
	b, err := ahp.Marshal(v)
	if err != nil {
		t.Error(err)
	}
	return b
}

// mirrored returns the mirror of a channel, or nil without a subscription.
func mirrored[S ahp.State](c *client, uri ahp.URI) (s S) {
	c.w.t.Helper()
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.mirror.Follows(uri) {
		return s
	}
	b, err := json.Marshal(c.mirror.State(uri))
	c.w.must(err)
	state, err := ahp.UnmarshalState(ahp.ChannelKind(c.mirror.Kind(uri)), b)
	c.w.must(err)
	s, ok := state.(S)
	if !ok {
		c.w.t.Fatalf("the mirror of %s is a %T", uri, state)
	}
	return s
}

func (c *client) subscribe(uris ...ahp.URI) {
	c.w.t.Helper()
	for _, uri := range uris {
		c.w.must(c.w.host.Prepare(c.w.t.Context(), c.caller, uri))
		c.caller.Conn.Subscribe(uri, hub.Subscription{URI: uri})
	}
	synctest.Wait()
}

// try dispatches an action and returns the reason of a rejection, or "".
func (c *client) try(channel ahp.URI, a ahp.Action) string {
	c.w.t.Helper()
	c.seq++
	o, err := c.w.host.Dispatch(c.w.t.Context(), c.caller, channel, c.seq, a)
	c.w.must(err)
	synctest.Wait()
	if o.Unknown {
		return "unknown"
	}
	return o.Rejected
}

// do is try for actions that must be accepted.
func (c *client) do(channel ahp.URI, a ahp.Action) {
	c.w.t.Helper()
	if reason := c.try(channel, a); reason != "" {
		c.w.t.Fatalf("%s was refused: %s", a.ActionType(), reason)
	}
}

// refused dispatches an action that must be rejected with a reason that contains want.
func (c *client) refused(channel ahp.URI, a ahp.Action, want string) {
	c.w.t.Helper()
	if reason := c.try(channel, a); reason == "" || !strings.Contains(reason, want) {
		c.w.t.Errorf("%s: refused with %q, want it to say %q", a.ActionType(), reason, want)
	}
}

func (c *client) say(text string) {
	c.w.t.Helper()
	c.do(c.w.chat(), started(text))
}

func started(text string) *ahp.ChatTurnStartedAction {
	return &ahp.ChatTurnStartedAction{TurnID: ids.New(), Message: user(text)}
}

func user(text string) ahp.Message {
	return ahp.Message{Text: text, Origin: ahp.MessageOrigin{Kind: ahp.MessageKindUser}}
}

// news returns the actions and notifications since the last call.
func (c *client) news() []string {
	synctest.Wait()
	c.mu.Lock()
	defer c.mu.Unlock()
	got := c.got
	c.got = nil
	return got
}

// converged fails unless every mirror equals the host's state (AHP requirement 40).
func (c *client) converged() {
	c.w.t.Helper()
	synctest.Wait()
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, uri := range c.mirror.Channels() {
		s, _, ok := c.w.hub.State(uri)
		if !ok {
			continue
		}
		if diff := c.mirror.Compare(uri, wireOf(c.w.t, s)); diff != "" {
			c.w.t.Errorf("the mirror of %s (got) differs from the host (want):\n%s", uri, diff)
		}
	}
}

func asJSON(t *testing.T, v any) any {
	t.Helper()
	raw, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	var out any
	if err := json.Unmarshal(raw, &out); err != nil {
		t.Fatal(err)
	}
	return out
}

func code(err error) int {
	if e, ok := errors.AsType[*ahp.Error](err); ok {
		return e.Code
	}
	return 0
}
