package ahp

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"runtime"
	"strings"
	"sync"
	"testing"
)

func TestTextOlderViewsStay(t *testing.T) {
	a := NewText("one")
	b := a.Append(" two")
	left, right := b.Append(" left"), b.Append(" right") // two continuations of one view
	for _, c := range []struct {
		got  Text
		want string
	}{{a, "one"}, {b, "one two"}, {left, "one two left"}, {right, "one two right"}, {Text{}, ""},
		{Text{}.Append("x"), "x"}} {
		if c.got.String() != c.want || string(c.got.Bytes()) != c.want || c.got.Len() != len(c.want) {
			t.Errorf("got %q, want %q", c.got.String(), c.want)
		}
	}
}

func TestTextAgainstStrings(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	texts, strs := []Text{{}}, []string{""}
	for range 5000 {
		i := r.IntN(len(texts))
		piece := strings.Repeat(string(rune('a'+r.IntN(26))), r.IntN(40))
		texts, strs = append(texts, texts[i].Append(piece)), append(strs, strs[i]+piece)
	}
	for i := range texts {
		if texts[i].String() != strs[i] {
			t.Fatalf("text %d is %q, want %q", i, texts[i].String(), strs[i])
		}
	}
}

// Readers of one view and a writer of the next share bytes without a lock; the race detector checks
// that.
func TestTextConcurrentReaders(t *testing.T) {
	var wg sync.WaitGroup
	defer wg.Wait()
	text := NewText("")
	for i := range 500 {
		text = text.Append("0123456789")
		view, want := text, (i+1)*10
		wg.Go(func() {
			if len(strings.Clone(view.String())) != want {
				t.Errorf("a view of %d bytes reads %d", want, view.Len())
			}
		})
		wg.Go(func() { view.Append("another future") })
	}
}

func TestTextKeepsRunesCutByTheStream(t *testing.T) {
	smile := "😀"
	text := NewText("a").Append(smile[:1]).Append(smile[1:3])
	if got := mustJSON(t, text); got != `"a\ufffd\ufffd\ufffd"` {
		t.Errorf("half a rune encodes as %s", got)
	}
	if got := mustJSON(t, text.Append(smile[3:])); got != `"a😀"` {
		t.Errorf("a whole rune encodes as %s", got)
	}
	var back Text
	if err := json.Unmarshal([]byte(`"\ud83d\ude00\u00e9"`), &back); err != nil || back.String() != "😀é" {
		t.Errorf("decoded %q, %v", back.String(), err)
	}
}

func TestClipFreesTheRoom(t *testing.T) {
	text := NewText("a")
	for range 700 {
		text = text.Append("0123456789")
	}
	clipped := text.Clip()
	if clipped.String() != text.String() || len(clipped.buf.bytes) > text.Len()*9/8 {
		t.Errorf("clipped to %d bytes of %d", len(clipped.buf.bytes), text.Len())
	}
	if len(text.buf.bytes) <= text.Len()*9/8 {
		t.Fatal("the text has no room to free")
	}
	if again := clipped.Clip(); again != clipped {
		t.Error("a text without room was copied")
	}
	if got := clipped.Append("!").String(); got != text.String()+"!" {
		t.Error("a clipped text cannot grow")
	}
	if (Text{}).Clip() != (Text{}) {
		t.Error("nothing became something")
	}
}

func chatWithPart(parts int) State {
	var list []ResponsePart
	for i := range parts {
		list = append(list, ResponsePart{&MarkdownResponsePart{ID: fmt.Sprint("old", i), Content: NewText("x")}})
	}
	list = append(list, ResponsePart{&MarkdownResponsePart{ID: "p"}})
	return &ChatState{ActiveTurn: &ActiveTurn{ID: "t", ResponseParts: NewParts(list...)},
		Status: SessionStatusInProgress}
}

// stream reduces n bytes in deltas of 20.
func stream(n int) State {
	s := chatWithPart(10)
	for range n / 20 {
		s = Reduce(s, &ChatDeltaAction{TurnID: "t", PartID: "p", Content: "twenty bytes of text"})
	}
	return s
}

func TestStreamingIsLinear(t *testing.T) {
	once, twice := allocated(func() { stream(1 << 19) }), allocated(func() { stream(1 << 20) })
	if 2*twice > 5*once {
		t.Errorf("twice the text took %d bytes of memory instead of %d: time goes with it", twice, once)
	}
	if got := stream(1 << 20).(*ChatState).ActiveTurn.ResponseParts.At(10).Value.(*MarkdownResponsePart).Content.Len(); got != 1<<20/20*20 {
		t.Errorf("%d bytes arrived", got)
	}
}

// allocated returns the bytes that f allocates; unlike time, they do not depend on the machine's
// load.
func allocated(f func()) uint64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	f()
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}

func TestMergingARunIsLinear(t *testing.T) {
	var merged Action = &ChatDeltaAction{TurnID: "t", PartID: "p", Content: "0123456789"}
	allocs := testing.AllocsPerRun(1, func() {
		for range 20000 {
			merged, _ = Merge(merged, &ChatDeltaAction{TurnID: "t", PartID: "p", Content: "0123456789"})
		}
	})
	if allocs > 3*20000 {
		t.Errorf("%.0f allocations for 20000 merges", allocs)
	}
	if n := len(merged.(*ChatDeltaAction).Content); n != 10+2*20000*10 {
		t.Errorf("%d bytes after merging", n)
	}
}

func BenchmarkDelta(b *testing.B) {
	s := chatWithPart(20)
	a := &ChatDeltaAction{TurnID: "t", PartID: "p", Content: "twenty bytes of text"}
	b.ReportAllocs()
	for range b.N {
		s = Reduce(s, a)
	}
}

func BenchmarkStream1MB(b *testing.B) {
	b.SetBytes(1 << 20)
	for range b.N {
		stream(1 << 20)
	}
}

func BenchmarkTerminalData(b *testing.B) {
	var s State = &TerminalState{}
	a := &TerminalDataAction{Data: strings.Repeat("x", 1024)}
	b.SetBytes(1024)
	for i := range b.N {
		if i%512 == 0 {
			s = Reduce(s, &TerminalClearedAction{})
		}
		s = Reduce(s, a)
	}
}
