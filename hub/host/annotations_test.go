package host

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"github.com/ahphub/ahphub/hub/agent"
	"github.com/ahphub/ahphub/hub/ahp"
	"github.com/ahphub/ahphub/hub/host/core"
	"github.com/ahphub/ahphub/hub/host/threads"
)

const notes = session + "/annotations"

func comment(id, text string) ahp.AnnotationEntry {
	return ahp.AnnotationEntry{ID: id, Text: ahp.Markdown(text)}
}

func thread(id string, entries ...ahp.AnnotationEntry) *ahp.AnnotationsSetAction {
	return &ahp.AnnotationsSetAction{Annotation: ahp.Annotation{ID: id, Resource: "file:///a.go", Entries: entries}}
}

func reply(thread string, e ahp.AnnotationEntry) *ahp.AnnotationsEntrySetAction {
	return &ahp.AnnotationsEntrySetAction{AnnotationID: thread, Entry: e}
}

func resolved(id string, yes bool) *ahp.AnnotationsUpdatedAction {
	return &ahp.AnnotationsUpdatedAction{AnnotationID: id, Resolved: &yes}
}

// authorsOf returns the names of a thread's authors.
func (w *world) authorsOf(id string) string {
	i := threads.FindThread(w.threads(), id)
	if i < 0 {
		return "no thread"
	}
	var names []string
	for _, e := range w.threads().Annotations[i].Entries {
		by, _ := core.ReadStamp(e.Meta)
		names = append(names, by.By.Name)
	}
	return strings.Join(names, " ")
}

func TestThreads(t *testing.T) { // AHP requirements 159 and 161
	inWorld(t, func(w *world) {
		c, ben := w.create(), w.connect(commenter, "ben-1")
		forged := comment("e1", "why?")
		forged.Meta = ahp.Meta{
			"ahphub": json.RawMessage(
				`{"by":{"id":"owner","name":"Ana"},"at":"2001-01-01T00:00:00Z","side":"after","hunk":"+x := 1"}`),
			"vscode": json.RawMessage(`{"kept":true}`),
		}
		set := thread("a", forged)
		set.Annotation.Resolved = true
		ben.do(notes, set)
		e := w.threads().Annotations[0].Entries[0]
		by, _ := core.ReadStamp(e.Meta)
		if by.By.Name != "Ben" || by.At.Year() == 2001 || by.Side != "after" || by.Hunk != "+x := 1" ||
			string(e.Meta["vscode"]) != `{"kept":true}` {
			t.Errorf("the comment is stamped %+v, its _meta is %s", by, e.Meta)
		}
		if a := w.threads().Annotations[0]; a.Resolved || a.Origin.Session != session {
			t.Errorf("the new thread is %+v", a)
		}
		c.do(notes, reply("a", comment("e2", "because")))
		if sum, _ := w.host.Summary(session); sum.Annotations.AnnotationCount != 1 || sum.Annotations.EntryCount != 2 {
			t.Errorf("the counts are %+v", sum.Annotations)
		}
		ben.do(notes, resolved("a", true))
		c.do(notes, resolved("a", false))
		ben.do(notes, reply("a", comment("e1", "why, please?")))
		if got := w.authorsOf("a"); got != "Ben Ana" {
			t.Errorf("the authors are %s", got)
		}
		c.do(notes, resolved("nobody", true)) // unknown ids change nothing
		c.do(notes, reply("nobody", comment("x", "x")))
		c.do(notes, &ahp.AnnotationsRemovedAction{AnnotationID: "nobody"})
		c.do(notes, &ahp.AnnotationsEntryRemovedAction{AnnotationID: "a", EntryID: "nobody"})
		c.converged()
	})
}

func TestOthersCommentsAreSafe(t *testing.T) { // AHP requirement 160
	inWorld(t, func(w *world) {
		c, ben, cleo := w.create(), w.connect(commenter, "ben-1"), w.connect(other, "cleo-1")
		ben.do(notes, thread("a", comment("b1", "one")))
		cleo.do(notes, thread("b", comment("c1", "two")))
		ben.do(notes, reply("b", comment("b2", "three")))
		had := w.threads().Annotations[1]

		drop := thread("b", comment("b2", "three"))
		reword := thread("b", comment("c1", "two, changed"), comment("b2", "three"))
		moved := thread("b", had.Entries...)
		moved.Annotation.Origin, moved.Annotation.Resource = had.Origin, "file:///b.go"
		twice := thread("b", had.Entries[0], had.Entries[1], had.Entries[0])
		for name, tc := range map[string]struct {
			a    ahp.Action
			says string
		}{
			"edits another's comment": {reply("b", comment("c1", "no")), "only your own"},
			"deletes another's comment": {&ahp.AnnotationsEntryRemovedAction{AnnotationID: "b", EntryID: "c1"},
				"only your own"},
			"deletes another's thread":       {&ahp.AnnotationsRemovedAction{AnnotationID: "b"}, "only your own"},
			"sets it without another's":      {drop, "only your own"},
			"sets it with another's changed": {reword, "only your own"},
			"moves another's thread":         {moved, "only your own"},
			"sets a comment twice":           {twice, "two comments"},
			"takes the last comment": {&ahp.AnnotationsEntryRemovedAction{AnnotationID: "a", EntryID: "b1"},
				"delete the thread"},
			"sets none":               {thread("c"), "at least one comment"},
			"sets none on an old one": {thread("a"), "at least one comment"},
			"says nothing":            {reply("a", comment("b3", "")), "empty"},
			"says too much":           {reply("a", comment("b3", strings.Repeat("x", 70<<10))), "too long"},
			"no id":                   {reply("a", comment("", "x")), "needs an id"},
		} {
			t.Run(name, func(*testing.T) { ben.refused(notes, tc.a, tc.says) })
		}
		same := thread("b", had.Entries...)
		same.Annotation.Origin = had.Origin
		same.Annotation.Entries = append(same.Annotation.Entries, comment("b4", "and four"))
		ben.do(notes, same)
		if got := w.authorsOf("b"); got != "Cleo Ben Ben" {
			t.Errorf("the authors are %s", got)
		}
		cleo.refused(notes, resolved("a", true), "only your own")
		ben.do(notes, resolved("b", true)) // Ben commented there
		w.connect(viewer, "vic-1").refused(notes, reply("a", comment("v", "hi")), "can't comment")

		c.do(notes, reply("b", comment("c1", "the owner may")))
		if got := w.authorsOf("b"); got != "Cleo Ben Ben" {
			t.Errorf("the owner's edit took the comment over: %s", got)
		}
		c.do(notes, &ahp.AnnotationsRemovedAction{AnnotationID: "b"})
		c.converged()
	})
}

func TestSendAnnotations(t *testing.T) {
	inWorld(t, func(w *world) {
		var seen [][]string
		gate := make(chan struct{}, 4)
		w.agent.prompt = func(_ context.Context, turn agent.Turn) error {
			var ids []string
			for _, a := range turn.Threads {
				ids = append(ids, a.ID)
			}
			seen = append(seen, ids)
			<-gate
			return nil
		}
		c := w.create()
		for _, id := range []string{"a", "b", "c"} {
			c.do(notes, thread(id, comment("1", "fix this")))
		}
		c.do(notes, resolved("b", true))
		w.must(w.host.SendAnnotations(w.t.Context(), c.caller, session, []string{"c", "a"}, "please", false))
		w.must(w.host.SendAnnotations(w.t.Context(), c.caller, session, nil, "", false))
		if s := w.chatState(); len(s.QueuedMessages) != 1 {
			t.Errorf("while the chat is busy: %+v", s.QueuedMessages)
		}
		w.must(w.host.SendAnnotations(w.t.Context(), c.caller, session, []string{"b"}, "now", true))
		if m := w.chatState().SteeringMessage; m == nil || m.Message.Text != "now" || len(m.Message.Attachments) != 1 {
			t.Errorf("steering by a thread: %+v", m)
		}
		c.do(w.chat(), &ahp.ChatPendingMessageRemovedAction{Kind: ahp.PendingMessageKindSteering,
			ID: w.chatState().SteeringMessage.ID})
		gate <- struct{}{}
		gate <- struct{}{}
		c.news()
		if len(seen) != 2 || strings.Join(seen[0], " ") != "a c" || strings.Join(seen[1], " ") != "a c" {
			t.Errorf("the agent was given %v", seen)
		}
		if err := w.host.SendAnnotations(w.t.Context(), c.caller, session, []string{"z"}, "",
			false); code(err) != ahp.CodeInvalidParams {
			t.Errorf("an unknown thread: %v", err)
		}
		if err := w.host.SendAnnotations(w.t.Context(), core.Caller{Principal: commenter}, session, nil, "",
			false); err == nil || !strings.Contains(err.Error(), "can't send") {
			t.Errorf("a commenter sent to the agent: %v", err)
		}
	})
}
