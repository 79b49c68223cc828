package access

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
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

func (m *memory) Add(ctx context.Context, bucket, key string, v []byte) error {
	return m.Put(ctx, bucket, key, v)
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

func TestALinksLife(t *testing.T) {
	store := &memory{docs: map[string][]byte{}}
	links := open(t, store)
	token, made, err := links.New(t.Context(), Link{Session: mine, Role: RoleCommenter, CreatedBy: "owner", Label: "Review"})
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

func TestRevokingEndsWhatIsOpen(t *testing.T) {
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
		token, _, err := links.New(t.Context(), Link{Session: mine, Role: RoleViewer, Expires: time.Now().Add(time.Hour)})
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

func TestLinksThatAreNotMade(t *testing.T) {
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
	if _, _, err := failing.New(t.Context(), Link{Session: mine, Role: RoleViewer}); err == nil || len(failing.List("")) != 0 {
		t.Errorf("a link that was not kept is there: %v", err)
	}
}

func TestManyGuestsAtOnceStayUnderTheLimit(t *testing.T) {
	links := open(t, &memory{docs: map[string][]byte{}})
	token, _, _ := links.New(t.Context(), Link{Session: mine, Role: RoleViewer})
	var wg sync.WaitGroup
	for i := range mostUses + 50 {
		wg.Go(func() { links.Redeem(t.Context(), token, fmt.Sprint("guest ", i)) })
	}
	wg.Wait()
	if n := len(links.List("")[0].Uses); n != mostUses {
		t.Errorf("%d guests came, want %d", n, mostUses)
	}
}

func TestBearerTokens(t *testing.T) {
	links := open(t, &memory{docs: map[string][]byte{}})
	link, _, _ := links.New(t.Context(), Link{Session: mine, Role: RoleViewer})
	tokens := NewTokens("the owner's own secret", "Olu", links, nil)
	if p, err := tokens.Check(t.Context(), "the owner's own secret"); err != nil || p.Role != RoleOwner || p.Name != "Olu" {
		t.Errorf("the owner is %+v, %v", p, err)
	}
	if p, err := tokens.Check(t.Context(), link); err != nil || p.Role != RoleViewer {
		t.Errorf("the link's bearer is %+v, %v", p, err)
	}
	for _, wrong := range []string{"", "the owner's own secre", link + "x"} {
		if p, err := tokens.Check(t.Context(), wrong); !errors.Is(err, ErrWrongToken) || p.Known() {
			t.Errorf("%q let in %+v, %v", wrong, p, err)
		}
	}
}

func TestOwnerToken(t *testing.T) {
	dir := t.TempDir()
	made, path, err := OwnerToken("", "", dir)
	if err != nil || len(made) < 32 {
		t.Fatalf("made %q, %v", made, err)
	}
	info, err := os.Stat(path)
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Fatalf("%v, %v: want mode 0600", info.Mode(), err)
	}
	if again, _, err := OwnerToken("", "", dir); err != nil || again != made {
		t.Errorf("the next start has another token: %v", err)
	}
	file := filepath.Join(dir, "mine")
	os.WriteFile(file, []byte("  a token of my own choice\n"), 0o600)
	if got, _, err := OwnerToken("", file, dir); err != nil || got != "a token of my own choice" {
		t.Errorf("from a file: %q, %v", got, err)
	}
	if _, _, err := OwnerToken("short", "", dir); err == nil {
		t.Error("a short token was taken")
	}
	if _, _, err := OwnerToken("", filepath.Join(dir, "absent"), dir); err == nil {
		t.Error("a token file that is not there was taken")
	}
}

func TestSignInWorksOnce(t *testing.T) {
	now := time.Now()
	s := SignIn{Dir: filepath.Join(t.TempDir(), "signin"), Now: func() time.Time { return now }}
	token, err := s.New()
	if err != nil {
		t.Fatal(err)
	}
	var good, bad int
	var mu sync.Mutex
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			err := s.Use(token)
			mu.Lock()
			defer mu.Unlock()
			if err == nil {
				good++
			} else if errors.Is(err, ErrWrongToken) {
				bad++
			}
		})
	}
	wg.Wait()
	if good != 1 || bad != 7 {
		t.Errorf("%d got in by one token, %d were refused", good, bad)
	}
	old, _ := s.New()
	now = now.Add(signInLife + time.Minute)
	if err := s.Use(old); !errors.Is(err, ErrWrongToken) {
		t.Errorf("an old token was good: %v", err)
	}
	for range signInMost + 5 {
		if _, err := s.New(); err != nil {
			t.Fatal(err)
		}
	}
	if entries, _ := os.ReadDir(s.Dir); len(entries) > signInMost {
		t.Errorf("%d tokens are kept", len(entries))
	}
}

func TestALinkForSoManyPeople(t *testing.T) {
	links := open(t, &memory{docs: map[string][]byte{}})
	token, made, err := links.New(t.Context(), Link{Session: mine, Role: RoleViewer, MaxUses: 2})
	if err != nil {
		t.Fatal(err)
	}
	var first Principal
	for i := range 2 {
		who, err := links.Redeem(t.Context(), token, fmt.Sprint("guest ", i))
		if err != nil {
			t.Fatal(err)
		}
		if i == 0 {
			first = who
		}
	}
	if _, err := links.Redeem(t.Context(), token, "one more"); !errors.Is(err, ErrUsedUp) {
		t.Errorf("the third of two: %v", err)
	}
	if _, err := links.Principal(made.ID, first.ID); err != nil {
		t.Errorf("who is in was put out: %v", err)
	}
	bearer, err := links.Bearer(token)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := links.Admit(t.Context(), bearer, "editor", "Editor"); !errors.Is(err, ErrUsedUp) {
		t.Errorf("a client as the third of two: %v", err)
	}
	if l := links.List(mine)[0]; !l.UsedUp() || len(l.Uses) != 2 {
		t.Errorf("the list shows %+v", l)
	}
	for _, n := range []int{-1, mostUses + 1} {
		if _, _, err := links.New(t.Context(), Link{Session: mine, Role: RoleViewer, MaxUses: n}); err == nil {
			t.Errorf("a link for %d people was made", n)
		}
	}
}

// Many at once are let in as often as the link says and no more.
func TestALimitHoldsForManyAtOnce(t *testing.T) {
	links := open(t, &memory{docs: map[string][]byte{}})
	token, _, err := links.New(t.Context(), Link{Session: mine, Role: RoleViewer, MaxUses: 5})
	if err != nil {
		t.Fatal(err)
	}
	var all sync.WaitGroup
	var mu sync.Mutex
	in := 0
	for i := range 40 {
		all.Go(func() {
			if _, err := links.Redeem(t.Context(), token, fmt.Sprint("guest ", i)); err == nil {
				mu.Lock()
				in++
				mu.Unlock()
			}
		})
	}
	all.Wait()
	if in != 5 {
		t.Errorf("%d were let in by a link for 5", in)
	}
}

// A client is one use by its id, however often and however many of its sockets come at once.
func TestClientsAreCounted(t *testing.T) {
	store := &memory{docs: map[string][]byte{}}
	links := open(t, store)
	token, made, err := links.New(t.Context(), Link{Session: mine, Role: RoleViewer, MaxUses: 5, Label: "team"})
	if err != nil {
		t.Fatal(err)
	}
	bearer, err := links.Bearer(token)
	if err != nil {
		t.Fatal(err)
	}
	var all sync.WaitGroup
	var mu sync.Mutex
	byClient := map[string]map[string]bool{}
	for i := range 40 {
		all.Go(func() {
			client := fmt.Sprint("client ", i%8)
			who, err := links.Admit(t.Context(), bearer, client, "Editor")
			mu.Lock()
			defer mu.Unlock()
			switch {
			case err == nil && byClient[client] == nil:
				byClient[client] = map[string]bool{who.ID: true}
			case err == nil:
				byClient[client][who.ID] = true
			case !errors.Is(err, ErrUsedUp):
				t.Error(err)
			}
		})
	}
	all.Wait()
	if len(byClient) != 5 {
		t.Errorf("%d clients were let in by a link for 5", len(byClient))
	}
	for client, ids := range byClient {
		if len(ids) != 1 {
			t.Errorf("%s is %d guests", client, len(ids))
		}
	}
	again := open(t, store)
	for client, ids := range byClient {
		who, err := again.Admit(t.Context(), bearer, client, "Editor")
		if err != nil || !ids[who.ID] || who.Name != "team (Editor)" {
			t.Errorf("after a restart %s is %v, %v", client, who, err)
		}
	}
	if uses := again.List(mine)[0].Uses; len(uses) != 5 || uses[0].Client == "" {
		t.Errorf("the list shows %+v", uses)
	}
	if err := again.Revoke(t.Context(), made.ID); err != nil {
		t.Fatal(err)
	}
	if who, err := again.Admit(t.Context(), bearer, "client 0", ""); err == nil {
		t.Errorf("a revoked link lets %v in", who)
	}
}

// Where a link does not count, clients beyond what is kept come in all the same, as nobody in particular.
func TestClientsThatNobodyCounts(t *testing.T) {
	links := open(t, &memory{docs: map[string][]byte{}})
	token, _, err := links.New(t.Context(), Link{Session: mine, Role: RoleViewer})
	if err != nil {
		t.Fatal(err)
	}
	bearer, _ := links.Bearer(token)
	for i := range mostUses + 3 {
		who, err := links.Admit(t.Context(), bearer, fmt.Sprint(i), "")
		if err != nil || (who.ID == bearer.ID) != (i >= mostUses) {
			t.Fatalf("client %d is %v, %v", i, who, err)
		}
	}
}

// A link for people who are signed in takes neither a name nor a client's word; a person is one use of it.
func TestALinkForPeopleWithAnAccount(t *testing.T) {
	links := open(t, &memory{docs: map[string][]byte{}})
	token, made, err := links.New(t.Context(), Link{Session: mine, Role: RoleCommenter, SignIn: true, MaxUses: 1})
	if err != nil {
		t.Fatal(err)
	}
	_, byName := links.Redeem(t.Context(), token, "Ben")
	_, byClient := links.Bearer(token)
	_, byGuest := links.RedeemAs(t.Context(), token, guest(RoleDriver))
	for what, err := range map[string]error{"a name": byName, "a client": byClient, "a guest of another link": byGuest} {
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
	if _, err := links.RedeemAs(t.Context(), token, Principal{ID: "person:ana", Name: "Ana", Role: RoleMember}); !errors.Is(err, ErrUsedUp) {
		t.Errorf("the second of one: %v", err)
	}
}

// A driver's switches come along by a cookie and by a bearer's token alike.
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
			for _, a := range []string{"chat/turnStarted", "chat/toolCallConfirmed", "terminal/input", "session/titleChanged"} {
				if err := MayAct(p, a, myChat); (err == nil) != (a == test.may) {
					t.Errorf("%s with a switch for %s: %s: %v", p.ID, test.may, a, err)
				}
			}
		}
	}
}
