package main

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/ahphub/ahphub/handlers/rpc"
	"github.com/ahphub/ahphub/hub"
	"github.com/ahphub/ahphub/hub/access"
	"github.com/ahphub/ahphub/hub/ahp"
	"github.com/ahphub/ahphub/hub/host/core"
	"github.com/ahphub/ahphub/hub/people"
)

// taken is a host that takes everything, or refuses it.
type taken struct {
	rpc.Host
	rejected string
	err      error
}

func (h *taken) Dispatch(context.Context, core.Caller, ahp.URI, int64, ahp.Action) (hub.Outcome, error) {
	return hub.Outcome{Rejected: h.rejected}, h.err
}

func (h *taken) CreateSession(context.Context, core.Caller, ahp.CreateSessionParams) error {
	return h.err
}
func (h *taken) DisposeSession(context.Context, core.Caller, ahp.DisposeSessionParams) error {
	return h.err
}
func (h *taken) DisposeChat(context.Context, core.Caller, ahp.DisposeChatParams) error { return h.err }
func (h *taken) MoveChat(context.Context, core.Caller, ahp.MoveChatParams) (r ahp.MoveChatResult, err error) {
	return r, h.err
}
func (h *taken) CreateTerminal(context.Context, core.Caller, ahp.CreateTerminalParams) error {
	return h.err
}
func (h *taken) DisposeTerminal(context.Context, core.Caller, ahp.DisposeTerminalParams) error {
	return h.err
}
func (h *taken) ResourceWrite(context.Context, core.Caller, ahp.ResourceWriteParams) (r ahp.ResourceWriteResult,
	err error) {
	return r, h.err
}
func (h *taken) ResourceMkdir(context.Context, core.Caller, ahp.ResourceMkdirParams) (r ahp.ResourceMkdirResult,
	err error) {
	return r, h.err
}
func (h *taken) ResourceCopy(context.Context, core.Caller, ahp.ResourceCopyParams) (r ahp.ResourceCopyResult,
	err error) {
	return r, h.err
}
func (h *taken) ResourceMove(context.Context, core.Caller, ahp.ResourceMoveParams) (r ahp.ResourceMoveResult,
	err error) {
	return r, h.err
}
func (h *taken) ResourceDelete(context.Context, core.Caller, ahp.ResourceDeleteParams) (r ahp.ResourceDeleteResult,
	err error) {
	return r, h.err
}
func (h *taken) ResourceRequest(context.Context, core.Caller, ahp.ResourceRequestParams) (r ahp.ResourceRequestResult,
	err error) {
	return r, h.err
}
func (h *taken) InvokeChangesetOperation(context.Context, core.Caller,
	ahp.InvokeChangesetOperationParams) (r ahp.InvokeChangesetOperationResult, err error) {
	return r, h.err
}
func (h *taken) Authenticate(context.Context, core.Caller, ahp.AuthenticateParams) (r ahp.AuthenticateResult,
	err error) {
	return r, h.err
}
func (h *taken) RunAutomation(context.Context, core.Caller, ahp.RunAutomationParams) (r ahp.RunAutomationResult,
	err error) {
	return r, h.err
}

type events struct {
	people.Store
	n    int
	last people.Event
}

func (e *events) Add(_ context.Context, _, _ string, raw []byte) error {
	e.n++
	return json.Unmarshal(raw, &e.last)
}

func TestWhatClientsDoIsWrittenDown(t *testing.T) {
	now := time.Unix(1e9, 0)
	kept := &events{}
	inner := &taken{}
	a := newAudited(inner, people.Audit{Store: kept}, slog.New(slog.DiscardHandler))
	a.now = func() time.Time { return now }
	ana := core.Caller{Principal: access.Owner("Ana")}
	do := func(action ahp.Action, want int, why string) {
		t.Helper()
		kept.n = 0
		_, _ = a.Dispatch(t.Context(), ana, "ahp-terminal:/1", 1, action)
		if kept.n != want {
			t.Errorf("%s: %d lines were written, %d were expected", why, kept.n, want)
		}
	}
	do(&ahp.ChatToolCallConfirmedAction{}, 1, "an approval")
	do(&ahp.SessionIsReadChangedAction{}, 0, "what was read")
	do(&ahp.TerminalInputAction{Data: "secret"}, 1, "the first key")
	do(&ahp.TerminalInputAction{Data: "secret"}, 0, "the second key")
	now = now.Add(2 * time.Minute)
	do(&ahp.TerminalInputAction{Data: "secret"}, 1, "a key much later")
	inner.rejected = "not you"
	do(&ahp.ChatToolCallConfirmedAction{}, 0, "what was refused")
	inner.rejected, inner.err = "", errors.New("broken")
	do(&ahp.ChatToolCallConfirmedAction{}, 0, "what went wrong")
}

// Every action that somebody may dispatch, and every method, is written down or stands in the table of those that are
// not, with the reason.
func TestEveryActionAndMethodIsWrittenDownOrSaysWhyNot(t *testing.T) {
	check := func(what string, all []string, words, not map[string]string) {
		t.Helper()
		known := map[string]bool{}
		for _, name := range all {
			known[name] = true
			if (words[name] == "") == (not[name] == "") {
				t.Errorf("the %s %s is %q and %q: give it a row in one table of audited_words.go", what, name, words[name],
					not[name])
			}
		}
		for _, table := range []map[string]string{words, not} {
			for name := range table {
				if !known[name] {
					t.Errorf("there is no %s %s any more: take its row away", what, name)
				}
			}
		}
	}
	check("action", access.Actions(), auditedActions, notAuditedActions)
	check("method", access.Methods(), auditedMethods, notAuditedMethods)
}

// Files that were asked for in vain are in the audit, once for a client that asks again and again.
func TestFilesAskedForInVainAreWrittenDown(t *testing.T) {
	kept, inner := &events{}, &taken{err: ahp.Errorf(ahp.CodePermissionDenied, "the owner said no")}
	a := newAudited(inner, people.Audit{Store: kept}, slog.New(slog.DiscardHandler))
	for range 3 {
		_, _ = a.ResourceRequest(t.Context(), core.Caller{Principal: access.Owner("Ana")},
			ahp.ResourceRequestParams{URI: "file:///etc/hosts"})
	}
	if e := kept.last; kept.n != 1 || e.What != "asked for files, in vain" || e.On != "file:///etc/hosts" ||
		e.Name != "Ana" {
		t.Errorf("%d lines, the last %+v", kept.n, e)
	}
}

// Every method that has words writes them, when it went well, with the channel or file it was about.
func TestMethodsAreWrittenDown(t *testing.T) {
	kept, inner := &events{}, &taken{}
	a := newAudited(inner, people.Audit{Store: kept}, slog.New(slog.DiscardHandler))
	ana := core.Caller{Principal: access.Owner("Ana")}
	for method, words := range auditedMethods {
		call := reflect.ValueOf(a).MethodByName(strings.ToUpper(method[:1]) + method[1:])
		if !call.IsValid() {
			t.Errorf("nobody calls %s", method)
			continue
		}
		params := reflect.New(call.Type().In(2)).Elem()
		for _, field := range []string{"Channel", "URI", "Source", "Resource", "Automation"} {
			if f := params.FieldByName(field); f.IsValid() {
				f.SetString("file:///" + field)
			}
		}
		for _, inner.err = range []error{errors.New("refused"), nil} {
			kept.n = 0
			call.Call([]reflect.Value{reflect.ValueOf(t.Context()), reflect.ValueOf(ana), params})
			if (kept.n == 1) != (inner.err == nil) {
				t.Errorf("%s with %v: %d lines", method, inner.err, kept.n)
			}
		}
		if e := kept.last; !strings.HasPrefix(e.What, words) || !strings.HasPrefix(e.On, "file:///") || e.Who != "owner" ||
			e.Name != "Ana" {
			t.Errorf("%s writes %+v", method, e)
		}
	}
}
