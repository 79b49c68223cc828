package rpc

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"

	"github.com/ahphub/ahphub/hub"
	"github.com/ahphub/ahphub/hub/ahp"
	"github.com/ahphub/ahphub/hub/host/core"
)

const (
	sessionURI = "ahp-session:/1"
	chatURI    = "ahp-chat:/1"
	termURI    = "ahp-terminal:/1"
)

// fake is a host with one session over a real hub. It accepts the actions that clients may
// dispatch, and panics and fails on request.
type fake struct {
	hub  *hub.Hub
	hold chan struct{} // resourceRead waits for it

	mu   sync.Mutex
	seen []string
}

func newFake(t testing.TB, h *hub.Hub) *fake {
	t.Helper()
	f := &fake{hub: h, hold: make(chan struct{})}
	err := h.Do(func(tx *hub.Tx) {
		for _, c := range []struct {
			info  hub.ChannelInfo
			state ahp.State
		}{
			{hub.ChannelInfo{URI: ahp.RootURI, Kind: ahp.ChannelRoot}, &ahp.RootState{}},
			{hub.ChannelInfo{URI: sessionURI, Kind: ahp.ChannelSession, Session: sessionURI},
				&ahp.SessionState{Provider: "p", Title: "One", Lifecycle: "ready"}},
			{hub.ChannelInfo{URI: "ahp-session:/2", Kind: ahp.ChannelSession, Session: "ahp-session:/2"},
				&ahp.SessionState{Title: "Two", Lifecycle: "ready", DefaultChat: "ahp-chat:/2"}},
			{hub.ChannelInfo{URI: chatURI, Kind: ahp.ChannelChat, Session: sessionURI}, chat()},
			{hub.ChannelInfo{URI: termURI, Kind: ahp.ChannelTerminal, Session: sessionURI},
				&ahp.TerminalState{Title: "sh",
					Claim:     ahp.TerminalClaim{Value: &ahp.TerminalClientClaim{ClientID: "a"}},
					Lifecycle: ahp.TerminalLifecycleState{Status: "running"}}},
		} {
			must(t, tx.Open(c.info, c.state))
		}
	})
	must(t, err)
	return f
}

func chat() *ahp.ChatState {
	s := &ahp.ChatState{Resource: chatURI, Title: "Chat", Status: ahp.SessionStatusInProgress,
		ModifiedAt: "2026-01-02T03:04:05.000Z"}
	for _, id := range []string{"t1", "t2", "t3"} {
		s.Turns = append(s.Turns, &ahp.Turn{ID: id, State: "complete",
			Message: ahp.Message{Text: id, Origin: ahp.MessageOrigin{Kind: "user"}}})
	}
	s.ActiveTurn = &ahp.ActiveTurn{ID: "t4", StartedAt: s.ModifiedAt,
		Message:       ahp.Message{Text: "t4", Origin: ahp.MessageOrigin{Kind: "user"}},
		ResponseParts: ahp.NewParts(ahp.ResponsePart{Value: &ahp.MarkdownResponsePart{ID: "p"}})}
	return s
}

func (f *fake) note(what string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.seen = append(f.seen, what)
}

func (f *fake) Prepare(_ context.Context, c core.Caller, uri ahp.URI) error {
	info, ok := f.hub.Info(uri)
	if !ok || !c.Audience().Sees(info) {
		return ahp.Errorf(ahp.CodeNotFound, "there is nothing at %s", uri)
	}
	return nil
}

func (f *fake) Dispatch(_ context.Context, c core.Caller, channel ahp.URI, clientSeq int64, a ahp.Action) (hub.Outcome,
	error) {
	if t, ok := a.(*ahp.SessionTitleChangedAction); ok && t.Title == "panic" {
		panic("as asked")
	} else if ok && t.Title == "fail" {
		return hub.Outcome{}, errors.New("secret cause")
	}
	return f.hub.Dispatch(c.Conn, channel, clientSeq, a, func(_ *hub.Tx, _ ahp.State, a ahp.Action) (ahp.Action,
		string) {
		if info, ok := ahp.Info(a.ActionType()); !ok || !info.Dispatchable {
			return nil, "clients may not send " + a.ActionType()
		}
		return a, ""
	}), nil
}

func (f *fake) Unsubscribed(c core.Caller, uri ahp.URI) { f.note(c.ClientID + " unsubscribed " + uri) }
func (f *fake) Disconnected(c core.Caller)              { f.note(c.ClientID + " disconnected") }
func (f *fake) Evicted(principal, id string)            { f.note(id + " of " + principal + " evicted") }
func (f *fake) Reconnected(c core.Caller, uris []ahp.URI) {
	f.note(c.ClientID + " reconnected " + strings.Join(uris, " "))
}

func (f *fake) ListSessions(_ context.Context, _ core.Caller, p ahp.ListSessionsParams) (ahp.ListSessionsResult,
	error) {
	if p.Cursor != "" {
		return ahp.ListSessionsResult{}, ahp.Errorf(ahp.CodeInvalidParams, "no such cursor")
	}
	return ahp.ListSessionsResult{}, nil
}

func (f *fake) ProviderOf(session ahp.URI) string {
	if _, known := f.hub.Info(session); known {
		return "p"
	}
	return ""
}

func (f *fake) Providers() []string { return []string{"p"} }

func (f *fake) CreateSession(_ context.Context, _ core.Caller, p ahp.CreateSessionParams) error {
	switch p.Provider {
	case "panic":
		panic("as asked")
	case "fail":
		return errors.New("secret cause")
	}
	err := error(nil)
	if doErr := f.hub.Do(func(tx *hub.Tx) {
		err = tx.Open(hub.ChannelInfo{URI: p.Channel, Kind: ahp.ChannelSession, Session: p.Channel},
			&ahp.SessionState{Title: "New", Lifecycle: "creating", WorkingDirectories: p.WorkingDirectories})
		tx.Notify(hub.ChannelInfo{URI: p.Channel, Kind: ahp.ChannelSession, Session: p.Channel}, ahp.RootURI,
			"root/sessionAdded",
			ahp.SessionAddedParams{Channel: ahp.RootURI,
				Summary: ahp.SessionSummary{Resource: p.Channel, Title: "New",
					WorkingDirectories: p.WorkingDirectories}})
	}); doErr != nil {
		return doErr
	}
	if err != nil {
		return ahp.Errorf(ahp.CodeSessionAlreadyExists, "%s exists", p.Channel)
	}
	return nil
}

func (f *fake) DisposeSession(_ context.Context, _ core.Caller, p ahp.DisposeSessionParams) error {
	return f.hub.Do(func(tx *hub.Tx) { tx.Close(p.Channel) })
}

func (f *fake) ResolveSessionConfig(core.Caller, ahp.ResolveSessionConfigParams) (ahp.ResolveSessionConfigResult,
	error) {
	return ahp.ResolveSessionConfigResult{Schema: ahp.SessionConfigSchema{Type: "object"}}, nil
}
func (f *fake) CreateChat(context.Context, core.Caller, ahp.CreateChatParams) error   { return nil }
func (f *fake) DisposeChat(context.Context, core.Caller, ahp.DisposeChatParams) error { return nil }
func (f *fake) MoveChat(context.Context, core.Caller, ahp.MoveChatParams) (ahp.MoveChatResult, error) {
	return ahp.MoveChatResult{Session: sessionURI}, nil
}

func (f *fake) FetchTurns(_ context.Context, c core.Caller, p ahp.FetchTurnsParams) error {
	c.Conn.Tell(p.Channel, &ahp.ChatTurnsLoadedAction{})
	return nil
}

func (f *fake) Create(context.Context, core.Caller, ahp.CreateTerminalParams) error {
	return nil
}
func (f *fake) Dispose(context.Context, core.Caller, ahp.DisposeTerminalParams) error {
	return nil
}

func (f *fake) ResourceRead(ctx context.Context, _ core.Caller, p ahp.ResourceReadParams) (ahp.ResourceReadResult,
	error) {
	if strings.HasSuffix(p.URI, "/slow") {
		select {
		case <-f.hold:
		case <-ctx.Done():
		}
	}
	return ahp.ResourceReadResult{Data: p.URI, Encoding: "utf-8"}, nil
}

func (f *fake) ResourceList(context.Context, core.Caller, ahp.ResourceListParams) (ahp.ResourceListResult, error) {
	return ahp.ResourceListResult{}, nil
}

func (f *fake) ResourceResolve(context.Context, core.Caller, ahp.ResourceResolveParams) (ahp.ResourceResolveResult,
	error) {
	return ahp.ResourceResolveResult{}, ahp.Errorf(ahp.CodePermissionDenied, "outside the roots")
}

func (f *fake) InvokeChangesetOperation(context.Context, core.Caller,
	ahp.InvokeChangesetOperationParams) (ahp.InvokeChangesetOperationResult, error) {
	return ahp.InvokeChangesetOperationResult{}, nil
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
