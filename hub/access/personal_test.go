package access

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"
)

func (m *memory) Delete(_ context.Context, bucket, key string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.docs, bucket+"\x00"+key)
	return m.fail
}

// A personal token authenticates its owner until it is revoked or expires, also after a restart.
// Its text is not stored.
func TestPersonalTokens(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &memory{docs: map[string][]byte{}}
		mine, err := OpenPersonal(t.Context(), store)
		if err != nil {
			t.Fatal(err)
		}
		token, kept, err := mine.New(t.Context(), "owner", " editor ", time.Now().Add(time.Hour))
		if err != nil || kept.Name != "editor" {
			t.Fatal(kept, err)
		}
		other, _, _ := mine.New(t.Context(), "owner", "script", time.Time{})
		if mine, err = OpenPersonal(t.Context(), store); err != nil || len(mine.List("owner")) != 2 {
			t.Fatal("after a restart:", mine.List("owner"), err)
		}
		tokens := NewTokens(OwnerSecret{Token: "the owner's own long secret"}, "Olu", nil, mine)
		who, err := tokens.CheckGenerated(t.Context(), token)
		if err != nil || who.ID != "owner" || who.Name != "Olu" || !who.Has(RightManage) {
			t.Fatalf("the token is %+v, %v", who, err)
		}
		if _, err := tokens.CheckGenerated(t.Context(), token+"x"); !errors.Is(err, ErrWrongToken) {
			t.Errorf("a wrong one: %v", err)
		}
		ctx, cancel := tokens.Bind(t.Context(), who)
		defer cancel()
		if again, _ := OpenPersonal(t.Context(), store); !again.List("owner")[0].Used.IsZero() ||
			!again.List("owner")[1].Used.IsZero() {
			t.Error("the use of a token is written while it is checked")
		}
		if err := mine.Flush(t.Context()); err != nil {
			t.Fatal(err)
		}
		if again, _ := OpenPersonal(t.Context(), store); again.List("owner")[0].Used.IsZero() == again.List(
			"owner")[1].Used.IsZero() {
			t.Errorf("when they were used is kept as %+v", again.List("owner"))
		}
		<-ctx.Done()
		if !errors.Is(context.Cause(ctx), ErrTokenEnded) {
			t.Errorf("it expired with %v", context.Cause(ctx))
		}
		if _, err := tokens.CheckGenerated(t.Context(), token); !errors.Is(err, ErrWrongToken) {
			t.Errorf("an expired one: %v", err)
		}

		who, _ = tokens.CheckGenerated(t.Context(), other)
		ctx, cancel = tokens.Bind(t.Context(), who)
		defer cancel()
		if err := mine.Revoke(t.Context(), who.Token); err != nil {
			t.Fatal(err)
		}
		<-ctx.Done()
		if _, err := tokens.CheckGenerated(t.Context(), other); !errors.Is(err, ErrWrongToken) {
			t.Errorf("a revoked one: %v", err)
		}
		if ctx, _ := tokens.Bind(t.Context(), who); ctx.Err() == nil {
			t.Error("a revoked one binds")
		}
		if mine, _ = OpenPersonal(t.Context(), store); len(mine.List("owner")) != 1 {
			t.Errorf("after a restart: %+v", mine.List("owner"))
		}
	})
}

func TestRefuseInvalidPersonalTokens(t *testing.T) {
	mine, _ := OpenPersonal(t.Context(), &memory{docs: map[string][]byte{}})
	if _, _, err := mine.New(t.Context(), "owner", " ", time.Time{}); err == nil {
		t.Error("one without a name")
	}
	if _, _, err := mine.New(t.Context(), "owner", "x", time.Unix(1, 0)); err == nil {
		t.Error("one that expired")
	}
	for range maxTokens {
		if _, _, err := mine.New(t.Context(), "owner", "x", time.Time{}); err != nil {
			t.Fatal(err)
		}
	}
	if _, _, err := mine.New(t.Context(), "owner", "x", time.Time{}); err == nil {
		t.Error("one too many")
	}
}
