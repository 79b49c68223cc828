package main

import (
	"context"
	"fmt"

	"github.com/ahphub/ahphub/hub"
	"github.com/ahphub/ahphub/hub/access"
	"github.com/ahphub/ahphub/hub/ahp"
	"github.com/ahphub/ahphub/hub/host/core"
	"github.com/ahphub/ahphub/hub/ids"
)

// demoReviewed is the prompt whose changes have review threads.
const demoReviewed = "Greet in the language of the person"

// demoThread is a thread about a line of the changes, with alternating comments by a guest and the
// owner.
type demoThread struct {
	file     string
	line     int64 // 0-based; -1 for the whole file
	says     []string
	resolved bool
}

var demoThreads = []demoThread{
	{file: "greet.go", line: 13, says: []string{
		"An unknown language is greeted in English without a word. Should the caller not hear of it?",
		"Good point: an error would be too much, but it can return which language it used.",
	}},
	{file: "greet_test.go", line: 6, says: []string{"Please add a language that is not in the map."}},
	{file: "docs/languages.md", line: -1,
		says: []string{"Is this list kept by hand?", "Yes, three lines are no trouble."}, resolved: true},
}

// reviewDemo adds the threads to a session once its agent has finished.
func (a *app) reviewDemo(ctx context.Context, owner core.Caller, session ahp.URI) error {
	s, ok := hub.StateOf[*ahp.SessionState](a.hub, session)
	if !ok || s.Annotations == nil {
		return fmt.Errorf("the session was not created")
	}
	if err := a.turnOver(ctx, s.DefaultChat); err != nil {
		return err
	}
	guest := core.Caller{ClientID: "demo-guest",
		Principal: access.Principal{ID: "guest:demo", Name: "Ben", Role: access.RoleCommenter, Session: session,
			Link: "demo"}}
	for _, t := range demoThreads {
		thread := ahp.Annotation{ID: ids.New(), Origin: ahp.AnnotationOrigin{Session: session},
			Resource: s.WorkingDirectories[0] + "/" + t.file}
		if t.line >= 0 {
			at := ahp.TextPosition{Line: t.line}
			thread.Range = &ahp.TextRange{Start: at, End: at}
		}
		for i, text := range t.says {
			who := []core.Caller{guest, owner}[i%2]
			thread.Entries = append(thread.Entries, ahp.AnnotationEntry{ID: ids.New(), Text: ahp.Markdown(text)})
			thread.Resolved = t.resolved && i == len(t.says)-1
			if err := a.dispatch(ctx, who, s.Annotations.Resource,
				&ahp.AnnotationsSetAction{Annotation: thread}); err != nil {
				return err
			}
		}
	}
	return nil
}

// turnOver waits until a chat's agent is idle.
func (a *app) turnOver(ctx context.Context, chat ahp.URI) error {
	conn, err := a.hub.Connect(hub.ConnConfig{Principal: a.owner.ID, ClientID: "demo-watch"})
	if err != nil {
		return err
	}
	defer conn.Close(context.Canceled)
	conn.Subscribe(nil, hub.Subscription{URI: chat})
	for {
		if _, err := conn.Next(ctx, nil); err != nil {
			return err
		}
		if c, ok := hub.StateOf[*ahp.ChatState](a.hub, chat); !ok || c.ActiveTurn == nil {
			return nil
		}
	}
}

// dispatch applies an action as a client of who.
func (a *app) dispatch(ctx context.Context, who core.Caller, on ahp.URI, action ahp.Action) error {
	out, err := a.host.Dispatch(ctx, who, on, 0, action)
	if err != nil {
		return err
	}
	if out.Rejected != "" {
		return fmt.Errorf("%s was refused: %s", action.ActionType(), out.Rejected)
	}
	return nil
}
