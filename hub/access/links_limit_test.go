package access

import (
	"errors"
	"fmt"
	"sync"
	"testing"
)

func TestConcurrentGuestsStayUnderTheLimit(t *testing.T) {
	links := open(t, &memory{docs: map[string][]byte{}})
	token, _, _ := links.New(t.Context(), Link{Session: mine, Role: RoleViewer})
	var wg sync.WaitGroup
	for i := range maxUsesKept + 50 {
		wg.Go(func() { links.Redeem(t.Context(), token, fmt.Sprint("guest ", i)) })
	}
	wg.Wait()
	if n := len(links.List("")[0].Uses); n != maxUsesKept {
		t.Errorf("%d guests came, want %d", n, maxUsesKept)
	}
}

func TestLinkWithMaxUses(t *testing.T) {
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
	if l := links.List(mine)[0]; l.MaxUses != 2 || len(l.Uses) != 2 {
		t.Errorf("the list shows %+v", l)
	}
	for _, n := range []int{-1, maxUsesKept + 1} {
		if _, _, err := links.New(t.Context(), Link{Session: mine, Role: RoleViewer, MaxUses: n}); err == nil {
			t.Errorf("a link for %d people was made", n)
		}
	}
}

// A link admits concurrent guests up to its limit and no further.
func TestMaxUsesUnderConcurrency(t *testing.T) {
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

// A client is one use by its id, regardless of how many of its sockets connect at once.
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

// On a link without a limit, clients beyond the kept uses are admitted anonymously.
func TestClientsOfUncountedLink(t *testing.T) {
	links := open(t, &memory{docs: map[string][]byte{}})
	token, _, err := links.New(t.Context(), Link{Session: mine, Role: RoleViewer})
	if err != nil {
		t.Fatal(err)
	}
	bearer, _ := links.Bearer(token)
	for i := range maxUsesKept + 3 {
		who, err := links.Admit(t.Context(), bearer, fmt.Sprint(i), "")
		if err != nil || (who.ID == bearer.ID) != (i >= maxUsesKept) {
			t.Fatalf("client %d is %v, %v", i, who, err)
		}
	}
}
