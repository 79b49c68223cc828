package notify

import (
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ahphub/ahphub/hub"
	"github.com/ahphub/ahphub/hub/access"
	"github.com/ahphub/ahphub/hub/ahp"
	"github.com/ahphub/ahphub/hub/review"
)

// told returns the notices that open pages would get, for any recipient.
func told(w *world) []Notice {
	w.n.live.mu.Lock()
	defer w.n.live.mu.Unlock()
	out := make([]Notice, len(w.n.live.ring))
	for i, x := range w.n.live.ring {
		out[i] = *x
	}
	return out
}

func TestNotices(t *testing.T) {
	ben := review.Person{ID: "guest:ben", Name: "Ben"}
	for name, test := range map[string]struct {
		uri    ahp.URI
		action func() ahp.Action // in the bubble, for its clock
		want   []Notice
	}{
		"an approval": {session, func() ahp.Action { return approval("a1") },
			[]Notice{{Kind: Approval, Title: "Approval needed",
				Text: "Run command: npm test --token=…", Path: "/s/short/c/one#tool-call%20a1",
				To: []string{"owner", "guest:ben"}}}},
		"a question": {session, func() ahp.Action { return ask("q1") },
			[]Notice{{Kind: Question, Title: "Asks you something", Text: "Which colour?",
				Path: "/s/short/c/one#ask-r-q1", To: []string{"owner", "guest:ben"}}}},
		"a turn that failed": {chat, func() ahp.Action {
			return &ahp.ChatErrorAction{TurnID: "t1",
				Part: ahp.ErrorResponsePart{Error: ahp.ErrorInfo{Message: "The model said no.\nstack"}}}
		},
			[]Notice{{Kind: Failed, Title: "Failed", Text: "The model said no.", Path: "/s/short/c/one#turn-t1",
				To: []string{"owner", "guest:ben"}}}},
		"a turn that ended": {chat, func() ahp.Action {
			return &ahp.ChatTurnCompleteAction{TurnID: "t1",
				Duration: 61_400}
		},
			[]Notice{{Kind: Finished, Title: "Finished", Text: "After 1m1s", Path: "/s/short/c/one#turn-t1",
				To: []string{"owner", "guest:ben"}}}},
		"a thread": {annotations, func() ahp.Action {
			return &ahp.AnnotationsSetAction{Annotation: ahp.Annotation{ID: "th", Resource: "file:///a",
				Entries: []ahp.AnnotationEntry{entry("e1", "guest:ben", "Why?\nBecause")}}}
		},
			[]Notice{{Kind: Comment, Title: "New comment by Name of guest:ben", Text: "Why?",
				Path: "/s/short/threads#thread-th", To: []string{"owner"}}}},
		"a mention": {annotations, func() ahp.Action {
			return &ahp.AnnotationsSetAction{Annotation: ahp.Annotation{ID: "th", Resource: "file:///a",
				Entries: []ahp.AnnotationEntry{entry("e1", "owner", "@Ben look")}}}
		},
			[]Notice{{Kind: Mention, Title: "You were mentioned by Name of owner", Text: "@Ben look",
				Path: "/s/short/threads#thread-th", To: []string{"guest:ben"}},
				{Kind: Comment, Title: "New comment by Name of owner", Text: "@Ben look",
					Path: "/s/short/threads#thread-th"}}},
		"a title": {session, func() ahp.Action { return &ahp.SessionTitleChangedAction{Title: "Other"} }, nil},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t, newMemory())
				w.review = w.review.After(review.Joined{Person: ben})
				if test.uri == chat {
					w.apply(chat, &ahp.ChatTurnStartedAction{TurnID: "t1"})
				}
				w.apply(test.uri, test.action())
				got := told(w)
				if len(got) != len(test.want) {
					t.Fatalf("told is %+v, want %+v", got, test.want)
				}
				for i, want := range test.want {
					g := got[i]
					if g.Kind != want.Kind || g.Title != want.Title || g.Text != want.Text || g.Path != want.Path ||
						!slices.Equal(g.To, want.To) || g.Session != "Fix the parser" || g.ID == "" {
						t.Errorf("told is %+v,\nwant    %+v", g, want)
					}
				}
				if n := w.store.count(noticeBucket); n != 0 {
					t.Errorf("%d notices wait that were told", n)
				}
			})
		})
	}
}

func TestNotifyOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, newMemory())
		w.apply(session, ask("q1"))
		again := ask("q1")
		again.Request.Value.(*ahp.SessionChatInputRequest).Request.Message = "Which colour, then?"
		w.apply(session, again)
		first := entry("e1", "guest:ben", "one")
		w.apply(annotations, &ahp.AnnotationsSetAction{Annotation: ahp.Annotation{ID: "th", Resource: "file:///a",
			Entries: []ahp.AnnotationEntry{first}}})
		time.Sleep(2 * fresh) // later, the comment moves with its file and has an earlier reply
		old := entry("e2", "guest:ben", "older")
		time.Sleep(2 * fresh)
		w.apply(annotations, &ahp.AnnotationsSetAction{Annotation: ahp.Annotation{ID: "th", Resource: "file:///b",
			Entries: []ahp.AnnotationEntry{first, old}}})
		var kinds []string
		for _, x := range told(w) {
			kinds = append(kinds, string(x.Kind))
		}
		if got := strings.Join(kinds, " "); got != "question comment" {
			t.Errorf("told is %s", got)
		}
	})
}

func TestQueuedTurnsAndSubAgentsDoNotFinish(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, newMemory())
		w.apply(chat, &ahp.ChatTurnStartedAction{TurnID: "t1"})
		w.apply(chat, &ahp.ChatPendingMessageSetAction{Kind: ahp.PendingMessageKindQueued, ID: "m1"})
		w.apply(chat, &ahp.ChatTurnCompleteAction{TurnID: "t1"})
		sub := hub.ChannelInfo{URI: "ahp-chat:/sub", Kind: ahp.ChannelChat, Session: session}
		w.do(func(tx *hub.Tx) {
			_ = tx.Open(sub, &ahp.ChatState{Resource: sub.URI, Origin: &ahp.ChatOrigin{Value: &ahp.ChatOriginTool{}}})
		})
		w.apply(sub.URI, &ahp.ChatTurnStartedAction{TurnID: "t2"})
		w.apply(sub.URI, &ahp.ChatTurnCompleteAction{TurnID: "t2"})
		if got := told(w); len(got) != 0 {
			t.Errorf("told is %+v", got)
		}
	})
}

func TestNotifyVerdict(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, newMemory())
		ben := review.Person{ID: "guest:ben", Name: "Ben"}
		w.review = w.review.After(review.Joined{Person: ben})
		given := review.Given{Verdict: review.Verdict{By: ben, Kind: review.RequestChanges, Summary: "# No\nmore",
			At: time.Now()}}
		w.do(func(tx *hub.Tx) {
			w.n.Judged(tx, session, given)
			w.n.Judged(tx, session, review.Joined{Person: ben})
		})
		synctest.Wait()
		got := told(w)
		if len(got) != 1 || got[0].Title != "New review by Ben" || got[0].Text != "Changes requested: No" ||
			!slices.Equal(got[0].To, []string{"owner"}) || got[0].Path != "/s/short/changes" {
			t.Errorf("told is %+v", got)
		}
	})
}

// The owner is notified of a client that waits for files, on pages and by webhook at once, and not
// by mail, which would be late.
func TestNotifyFileRequest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, newMemory())
		w.mailbox("owner")
		w.do(func(tx *hub.Tx) { w.n.FilesAsked(tx, "one", "Ben asks to read\u202e notes.txt") })
		synctest.Wait()
		got := told(w)
		if len(got) != 1 || got[0].Heading() != "Asks you something · Files" ||
			got[0].Text != "Ben asks to read notes.txt" || got[0].Path != "/#files-one" {
			t.Fatalf("told is %+v", got)
		}
		if _, ok := got[0].For(access.Owner("")); !ok {
			t.Error("the owner is not told")
		}
		if _, ok := got[0].For(access.Principal{ID: "person:ben", Role: access.RoleDriver, Host: true,
			Prompt: true}); ok {
			t.Error("another than the owner is told")
		}
		time.Sleep(time.Hour)
		synctest.Wait()
		if mails := w.mails(); len(mails) != 0 {
			t.Errorf("mails went out: %+v", mails)
		}
	})
}

// People are not notified of what they do not see, could not answer, or did themselves.
func TestRecipients(t *testing.T) {
	about := hub.ChannelInfo{URI: chat, Kind: ahp.ChannelChat, Session: session}
	guest := func(role access.Role, of ahp.URI, approve bool) access.Principal {
		return access.Principal{ID: "guest:ben", Name: "Ben", Role: role, Session: of, Link: "l", Approve: approve}
	}
	for name, test := range map[string]struct {
		who  access.Principal
		kind Kind
		to   []string
		want bool
	}{
		"the owner":             {access.Owner(""), Approval, []string{"owner"}, true},
		"the owner, who did it": {access.Owner(""), Comment, []string{"guest:ben"}, false},
		"a viewer of an end":    {guest(access.RoleViewer, session, false), Finished, []string{"guest:ben"}, true},
		"a viewer of an approval": {guest(access.RoleViewer, session, false), Approval, []string{"guest:ben"},
			false},
		"a driver who may approve": {guest(access.RoleDriver, session, true), Approval, []string{"guest:ben"}, true},
		"a driver who may not prompt": {guest(access.RoleDriver, session, true), Question, []string{"guest:ben"},
			false},
		"a guest of another session": {guest(access.RoleDriver, "ahp-session:/two", true), Approval,
			[]string{"guest:ben"}, false},
		"a guest whom it does not concern": {guest(access.RoleViewer, session, false), Comment, []string{"owner"},
			false},
		"nobody": {access.Principal{}, Finished, []string{""}, false},
	} {
		if _, told := (Notice{Kind: test.kind, About: about, To: test.to}).For(test.who); told != test.want {
			t.Errorf("%s: told is %t", name, !test.want)
		}
	}
}

// Only those who may approve a guest's request are notified of it.
func TestRecipientsOfGuestApprovals(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, newMemory())
		for turn, test := range map[string]struct {
			asked ahp.Meta
			told  bool // a driver whose link allows approving the owner's prompts
		}{"the owner's": {nil, true}, "a guest's": {ahp.Meta{"by": []byte(`"guest:ben"`)}, false}} {
			w.apply(chat, &ahp.ChatTurnStartedAction{TurnID: turn, Message: ahp.Message{Text: "make",
				Meta: test.asked}})
			w.apply(session, approval(turn))
			all := told(w)
			x := all[len(all)-1]
			x.To = []string{"owner", "guest:dan"}
			dan := access.Principal{ID: "guest:dan", Role: access.RoleDriver, Session: session, Link: "l",
				Approve: true}
			if _, ok := x.For(dan); ok != test.told {
				t.Errorf("%s: a driver who may approve is told: %t", turn, ok)
			}
			dan.Guests = true
			if _, ok := x.For(dan); !ok {
				t.Errorf("%s: a driver who may approve everything is not told", turn)
			}
			if _, ok := x.For(access.Owner("")); !ok {
				t.Errorf("%s: the owner is not told", turn)
			}
			w.apply(chat, &ahp.ChatTurnCompleteAction{TurnID: turn})
		}
	})
}

// A guest of one chat is notified of that chat, without the session's title, and of nothing else.
func TestRecipientsOfPart(t *testing.T) {
	ben := access.Principal{ID: "guest:ben", Role: access.RoleCommenter, Session: session, Link: "l",
		Scope: access.Scope{Kind: ahp.ChannelChat, URI: chat}}
	of := func(uri ahp.URI, kind ahp.ChannelKind) hub.ChannelInfo {
		return hub.ChannelInfo{URI: uri, Kind: kind, Session: session}
	}
	for name, test := range map[string]struct {
		x    Notice
		want bool
	}{
		"their chat":    {Notice{Kind: Failed, About: of(chat, ahp.ChannelChat)}, true},
		"another chat":  {Notice{Kind: Failed, About: of("ahp-chat:/two", ahp.ChannelChat)}, false},
		"a verdict":     {Notice{Kind: Verdict, About: of(session, ahp.ChannelSession)}, false},
		"other threads": {Notice{Kind: Mention, About: of(annotations, ahp.ChannelAnnotations), Thread: "t"}, false},
	} {
		test.x.To, test.x.Session = []string{"guest:ben"}, "The title of it all"
		if got, told := test.x.For(ben); told != test.want || told && got.Session != "Chat" {
			t.Errorf("%s: told is %t, as %q", name, told, got.Session)
		}
	}
}
