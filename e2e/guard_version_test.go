package e2e

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/uuid"

	"github.com/ahphub/ahphub/hub/ahp"
)

// A commenter who sees only one chat names another file's version in a comment. That does not let
// them read it.
func TestCommentOpensNoOtherVersion(t *testing.T) {
	t.Parallel()
	prog := Start(t, Options{Args: []string{"--agent", "script"}})
	ctx, cancel := context.WithTimeout(t.Context(), 2*patience)
	defer cancel()
	owner := dialHeard(t, ctx, prog, prog.Token(), &heard{})
	web, _ := signIn(t, prog.SignIn())
	h := newHalves(t, ctx, owner)
	link := partLink(t, web, prog, h.short, "commenter", "chat:"+strings.TrimPrefix(h.ours, "ahp-chat:/"))
	guest := dialHeard(t, ctx, prog, link, &heard{})
	threads := h.session + "/annotations"
	for _, uri := range []ahp.URI{h.session, h.ours, threads} {
		must(t, guest.Subscribe(ctx, uri))
	}
	read := func(uri ahp.URI) error {
		return guest.Call(ctx, "resourceRead", map[string]any{"channel": ahp.RootURI, "uri": uri}, nil)
	}
	if read(h.theirBlob) == nil {
		t.Fatal("a guest reads a version of another chat's file before they comment")
	}
	naming := func(uri ahp.URI) ahp.AnnotationEntry {
		raw, err := json.Marshal(map[string]any{"side": "after", "version": uri})
		must(t, err)
		return ahp.AnnotationEntry{ID: uuid.NewString(), Text: ahp.Plain("look"), Meta: ahp.Meta{"ahphub": raw}}
	}
	thread := ahp.Annotation{ID: uuid.NewString(), Resource: h.ourFileURI,
		Entries: []ahp.AnnotationEntry{naming(h.theirBlob)},
		Origin:  ahp.AnnotationOrigin{Session: h.session, Chat: h.ours, TurnID: h.ourTurn}}
	for _, a := range []ahp.Action{&ahp.AnnotationsSetAction{Annotation: thread},
		&ahp.AnnotationsEntrySetAction{AnnotationID: thread.ID, Entry: naming(h.theirBlob)}} {
		_, err := guest.Dispatch(ctx, threads, a)
		must(t, err)
	}
	must(t, guest.Wait(ctx, func() bool {
		return guest.Unanswered() == 0 && hasThread(guest, threads, thread.ID,
			"look")
	}))
	if read(h.theirBlob) == nil {
		t.Error("a guest reads a version of another chat's file, because a comment of theirs names it")
	}
	if err := read(h.ourBlob); err != nil {
		t.Errorf("a guest does not read the version they are shown: %v", err)
	}
}
