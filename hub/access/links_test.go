package access

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// memory is a Store; fail makes its writes fail.
type memory struct {
	mu   sync.Mutex
	docs map[string][]byte
	fail error
}

func (m *memory) Put(_ context.Context, bucket, key string, v []byte) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.fail == nil {
		m.docs[bucket+"\x00"+key] = v
	}
	return m.fail
}

func (m *memory) Each(_ context.Context, bucket string, visit func(string, []byte) error) error {
	for k, v := range m.docs {
		if b, key, _ := strings.Cut(k, "\x00"); b == bucket {
			if err := visit(key, v); err != nil {
				return err
			}
		}
	}
	return nil
}

func open(t *testing.T, m *memory) *Links {
	t.Helper()
	l, err := OpenLinks(t.Context(), m)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func TestLinkLifecycle(t *testing.T) {
	store := &memory{docs: map[string][]byte{}}
	links := open(t, store)
	token, made, err := links.New(t.Context(),
		Link{Session: mine, Role: RoleCommenter, CreatedBy: "owner", Label: "Review"})
	if err != nil {
		t.Fatal(err)
	}
	for _, doc := range store.docs {
		if strings.Contains(string(doc), token) {
			t.Fatalf("the token is kept: %s", doc)
		}
	}
	ana, err := links.Redeem(t.Context(), token, "Ana")
	if err != nil || ana.Role != RoleCommenter || ana.Session != mine || ana.Name != "Ana" || ana.Link != made.ID {
		t.Fatalf("got %+v, %v", ana, err)
	}
	ben, err := links.Redeem(t.Context(), token, "Ben")
	if err != nil || ben.ID == ana.ID {
		t.Fatalf("two guests are one: %+v, %v", ben, err)
	}

	again := open(t, store) // as after a restart
	if p, err := again.Principal(made.ID, ana.ID); err != nil || p != ana {
		t.Errorf("after a restart: %+v, %v", p, err)
	}
	if list := again.List(mine); len(list) != 1 || len(list[0].Uses) != 2 || list[0].Uses[0].Name != "Ana" {
		t.Errorf("listed as %+v", list)
	}
	if len(again.List(theirs)) != 0 {
		t.Error("a link is listed with another session")
	}
	if p, err := again.Bearer(token); err != nil || p.Session != mine || p.Name != "Review" {
		t.Errorf("an AHP client with the token is %+v, %v", p, err)
	}
	if err := again.Revoke(t.Context(), made.ID); err != nil {
		t.Fatal(err)
	}
	third := open(t, store)
	if _, err := third.Redeem(t.Context(), token, "Cleo"); !errors.Is(err, ErrWrongToken) {
		t.Errorf("a revoked link let somebody in: %v", err)
	}
	if _, err := third.Principal(made.ID, ana.ID); !errors.Is(err, ErrRevoked) {
		t.Errorf("a guest of a revoked link is still one: %v", err)
	}
	if _, err := third.Bearer(token); !errors.Is(err, ErrWrongToken) {
		t.Errorf("a revoked token opens a socket: %v", err)
	}
}

func TestRevocationEndsOpenConnections(t *testing.T) {
	links := open(t, &memory{docs: map[string][]byte{}})
	token, made, _ := links.New(t.Context(), Link{Session: mine, Role: RoleViewer})
	p, err := links.Redeem(t.Context(), token, "Ana")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := links.Bind(t.Context(), p)
	defer cancel()
	owners, cancelOwner := links.Bind(t.Context(), Owner(""))
	defer cancelOwner()
	if err := links.Revoke(t.Context(), made.ID); err != nil {
		t.Fatal(err)
	}
	<-ctx.Done()
	if !errors.Is(context.Cause(ctx), ErrRevoked) || owners.Err() != nil {
		t.Errorf("the guest's ends with %v, the owner's with %v", context.Cause(ctx), owners.Err())
	}
	late, cancelLate := links.Bind(t.Context(), p)
	defer cancelLate()
	<-late.Done()
}

func TestExpiry(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		links := open(t, &memory{docs: map[string][]byte{}})
		token, _, err := links.New(t.Context(), Link{Session: mine, Role: RoleViewer,
			Expires: time.Now().Add(time.Hour)})
		if err != nil {
			t.Fatal(err)
		}
		p, err := links.Redeem(t.Context(), token, "Ana")
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := links.Bind(t.Context(), p)
		defer cancel()
		start := time.Now()
		<-ctx.Done()
		if !errors.Is(context.Cause(ctx), ErrRevoked) || time.Since(start) != time.Hour {
			t.Errorf("ended after %v with %v", time.Since(start), context.Cause(ctx))
		}
		if _, err := links.Peek(token); !errors.Is(err, ErrWrongToken) {
			t.Errorf("an expired link can be looked into: %v", err)
		}
	})
}

func TestRefuseInvalidLinks(t *testing.T) {
	links := open(t, &memory{docs: map[string][]byte{}})
	for name, want := range map[string]Link{
		"nothing":    {Session: mine, Role: RoleDriver},
		"unapproved": {Session: mine, Role: RoleDriver, Prompt: true, Guests: true},
		"switched":   {Session: mine, Role: RoleViewer, Type: true},
		"owner":      {Session: mine, Role: RoleOwner},
		"no role":    {Session: mine},
		"no session": {Role: RoleViewer},
		"too late":   {Session: mine, Role: RoleViewer, Expires: time.Unix(1, 0)},
	} {
		if _, _, err := links.New(t.Context(), want); err == nil {
			t.Errorf("%s: a link was made", name)
		}
	}
	failing := open(t, &memory{docs: map[string][]byte{}, fail: errors.New("disk full")})
	if _, _, err := failing.New(t.Context(), Link{Session: mine, Role: RoleViewer}); err == nil ||
		len(failing.List("")) != 0 {
		t.Errorf("a link that was not kept is there: %v", err)
	}
}

// A link that requires sign-in accepts neither a name nor a client's id; a person counts as one
// use.
func TestLinkThatRequiresAccount(t *testing.T) {
	links := open(t, &memory{docs: map[string][]byte{}})
	token, made, err := links.New(t.Context(), Link{Session: mine, Role: RoleCommenter, SignIn: true, MaxUses: 1})
	if err != nil {
		t.Fatal(err)
	}
	_, byName := links.Redeem(t.Context(), token, "Ben")
	_, byClient := links.Bearer(token)
	_, byGuest := links.RedeemAs(t.Context(), token, guest(RoleDriver))
	for what, err := range map[string]error{"a name": byName, "a client": byClient,
		"a guest of another link": byGuest} {
		if !errors.Is(err, ErrSignIn) {
			t.Errorf("%s: %v", what, err)
		}
	}
	ben := Principal{ID: "person:ben", Name: "Ben", Role: RoleMember}
	for range 2 {
		who, err := links.RedeemAs(t.Context(), token, ben)
		if err != nil || who.ID != ben.ID || who.Name != "Ben" || who.Role != RoleCommenter || who.Link != made.ID {
			t.Fatalf("Ben comes as %v, %v", who, err)
		}
	}
	if _, err := links.RedeemAs(t.Context(), token,
		Principal{ID: "person:ana", Name: "Ana", Role: RoleMember}); !errors.Is(err, ErrUsedUp) {
		t.Errorf("the second of one: %v", err)
	}
}

// A driver's switches apply with a cookie and with a bearer token alike.
func TestDriversSwitches(t *testing.T) {
	links := open(t, &memory{docs: map[string][]byte{}})
	for _, test := range []struct {
		link Link
		may  string
	}{
		{Link{Prompt: true}, "chat/turnStarted"},
		{Link{Approve: true}, "chat/toolCallConfirmed"},
		{Link{Type: true}, "terminal/input"},
	} {
		test.link.Session, test.link.Role = mine, RoleDriver
		token, _, err := links.New(t.Context(), test.link)
		if err != nil {
			t.Fatal(err)
		}
		guest, _ := links.Redeem(t.Context(), token, "Ben")
		bearer, _ := links.Bearer(token)
		for _, p := range []Principal{guest, bearer} {
			for _, a := range []string{"chat/turnStarted", "chat/toolCallConfirmed", "terminal/input",
				"session/titleChanged"} {
				if err := MayAct(p, a, myChat); (err == nil) != (a == test.may) {
					t.Errorf("%s with a switch for %s: %s: %v", p.ID, test.may, a, err)
				}
			}
		}
	}
}
