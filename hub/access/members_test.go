package access

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/ahphub/ahphub/hub/ahp"
)

// keeping is a memory with Delete.
type keeping struct{ memory }

func (k *keeping) Delete(_ context.Context, bucket, key string) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	delete(k.docs, bucket+"\x00"+key)
	return k.fail
}

func openMembers(t *testing.T, store *keeping) *Members {
	t.Helper()
	m, err := OpenMembers(t.Context(), store, "Olu")
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func newKeeping() *keeping { return &keeping{memory{docs: map[string][]byte{}}} }

// One of many concurrent uses of an invitation succeeds, and one of many concurrent claims of a
// name.
func TestInvitationWorksOnce(t *testing.T) {
	m := openMembers(t, newKeeping())
	one, _, err := m.Invite(t.Context(), Member{Role: RoleMember})
	if err != nil {
		t.Fatal(err)
	}
	tokens := []string{one, one, one, one}
	for range 4 {
		token, _, err := m.Invite(t.Context(), Member{Role: RoleViewer})
		if err != nil {
			t.Fatal(err)
		}
		tokens = append(tokens, token)
	}
	var all sync.WaitGroup
	var mu sync.Mutex
	in := map[string]int{}
	for i, token := range tokens {
		all.Go(func() {
			name := "Ben"
			if i < 4 {
				name = fmt.Sprint("Somebody ", i)
			}
			who, err := m.Accept(t.Context(), token, name)
			mu.Lock()
			defer mu.Unlock()
			switch {
			case err == nil && i < 4:
				in["by one"]++
			case err == nil:
				in[who.Name]++
			case !errors.Is(err, ErrWrongToken) && !errors.Is(err, ErrNameTaken):
				t.Error(err)
			}
		})
	}
	all.Wait()
	if in["by one"] != 1 || in["Ben"] != 1 {
		t.Errorf("got in: %v", in)
	}
}

func TestMemberLifecycle(t *testing.T) {
	store := newKeeping()
	m := openMembers(t, store)
	now := time.Unix(1_000_000, 0)
	m.now = func() time.Time { return now }
	for _, wrong := range []Member{{Role: RoleOwner}, {Role: RoleAgent}, {Role: "chief"},
		{Role: RoleMember, Type: true},
		{Role: RoleDriver}, {Role: RoleViewer, Prompt: true}} {
		if _, _, err := m.Invite(t.Context(), wrong); err == nil {
			t.Errorf("%+v was invited", wrong)
		}
	}
	late, _, _ := m.Invite(t.Context(), Member{Role: RoleViewer})
	token, made, err := m.Invite(t.Context(), Member{Role: RoleDriver, Prompt: true, For: "Ben"})
	if err != nil {
		t.Fatal(err)
	}
	if _, known := m.Principal(made.ID); known || m.HasJoined() {
		t.Error("somebody who has not come is there")
	}
	if _, err := m.Accept(t.Context(), token, "OLU"); !errors.Is(err, ErrNameTaken) {
		t.Errorf("the owner's name: %v", err)
	}
	who, err := m.Accept(t.Context(), token, "Ben")
	if err != nil || !who.Host || !who.Has(RightPrompt) || who.Has(RightApprove) || !who.Has(RightAccount) ||
		who.Has(RightManage) {
		t.Fatalf("Ben is %+v, %v", who, err)
	}
	now = now.Add(inviteLife)
	if _, err := m.Accept(t.Context(), late, "Cleo"); !errors.Is(err, ErrWrongToken) {
		t.Errorf("an invitation a week later: %v", err)
	}

	m = openMembers(t, store) // after a restart
	if id, ok := m.ByName(" bEN "); !ok || id != who.ID {
		t.Errorf("by name: %q, %v", id, ok)
	}
	ctx, cancel := m.Bind(t.Context(), who.ID)
	defer cancel()
	if err := m.Change(t.Context(), who.ID,
		Member{Role: RoleDriver, Prompt: true, Approve: true, Guests: true}); err != nil {
		t.Fatal(err)
	}
	<-ctx.Done()
	if now, _ := m.Principal(who.ID); !errors.Is(context.Cause(ctx), ErrRemoved) || !now.Guests {
		t.Errorf("after a change: %v, %+v", context.Cause(ctx), now)
	}
	ctx, cancel = m.Bind(t.Context(), who.ID)
	defer cancel()
	if err := m.Remove(t.Context(), who.ID); err != nil {
		t.Fatal(err)
	}
	<-ctx.Done()
	if _, known := m.Principal(who.ID); known {
		t.Error("somebody removed is there")
	}
	if _, known := openMembers(t, store).Principal(who.ID); known {
		t.Error("somebody removed is there after a restart")
	}
	if err := m.Remove(t.Context(), "owner"); err == nil {
		t.Error("the owner was removed")
	}
}

// A member without links sees an empty host.
func TestMemberWithoutLinkSeesEmptyHost(t *testing.T) {
	ben := Principal{ID: "person:ben", Name: "Ben", Role: RoleMember}
	aud := ben.Audience()
	for _, e := range everything {
		if aud.Sees(e.ch) != (e.name == "root") {
			t.Errorf("a member sees %s: %v", e.name, aud.Sees(e.ch))
		}
	}
	seen, ok := aud.State(root, &ahp.RootState{Config: &ahp.RootConfigState{},
		Terminals: []ahp.TerminalInfo{{Title: "x",
			Claim: ahp.TerminalClaim{Value: &ahp.TerminalSessionClaim{Session: mine}}}}}).(*ahp.RootState)
	if !ok || len(seen.Terminals) != 0 || seen.Config != nil {
		t.Errorf("of root they see %+v", seen)
	}
	if (Principal{}).Audience().Sees(root) {
		t.Error("nobody sees root")
	}
}

// A failing store leaves members unchanged.
func TestFailedMemberWriteChangesNothing(t *testing.T) {
	store := newKeeping()
	m := openMembers(t, store)
	token, made, err := m.Invite(t.Context(), Member{Role: RoleViewer})
	if err != nil {
		t.Fatal(err)
	}
	store.fail = errors.New("the disk is full")
	if _, err := m.Accept(t.Context(), token, "Ben"); !errors.Is(err, store.fail) {
		t.Errorf("accepted: %v", err)
	}
	store.fail = nil
	if _, known := m.Principal(made.ID); known {
		t.Error("somebody is there who is not written down")
	}
	if _, err := m.Accept(t.Context(), token, "Ben"); err != nil {
		t.Errorf("once it writes again: %v", err)
	}
}
