package ahp

import (
	"fmt"
	"testing"
)

// turnOf returns a running turn of n parts, Markdown and tool calls alternating, as after hours of
// work.
func turnOf(n int) State {
	list := make([]ResponsePart, n)
	for i := range list {
		switch i % 3 {
		case 0:
			list[i] = ResponsePart{&MarkdownResponsePart{ID: fmt.Sprint("text-", i)}}
		case 1:
			list[i] = ResponsePart{&ReasoningResponsePart{ID: fmt.Sprint("thought-", i)}}
		default:
			list[i] = ResponsePart{&ToolCallResponsePart{ToolCallState{&ToolCallStreamingState{ToolCallBase: ToolCallBase{ToolCallID: fmt.Sprint("call-", i)}}}}}
		}
	}
	return &ChatState{ActiveTurn: &ActiveTurn{ID: "t", ResponseParts: NewParts(list...)},
		Status: SessionStatusInProgress}
}

// BenchmarkReduce measures one action of a stream, to the first part of a turn and to its last.
func BenchmarkReduce(b *testing.B) {
	const text = "twenty bytes of text"
	for _, n := range []int{3, 30, 999, 99_999} {
		for _, c := range []struct {
			name string
			a    Action
		}{
			{"text/first", &ChatDeltaAction{TurnID: "t", PartID: "text-0", Content: text}},
			{"text/last", &ChatDeltaAction{TurnID: "t", PartID: fmt.Sprint("text-", n-3), Content: text}},
			{"reasoning/last", &ChatReasoningAction{TurnID: "t", PartID: fmt.Sprint("thought-", n-2), Content: text}},
			{"call/first", &ChatToolCallDeltaAction{TurnID: "t", ToolCallID: "call-2", Content: text}},
			{"call/last", &ChatToolCallDeltaAction{TurnID: "t", ToolCallID: fmt.Sprint("call-", n-1), Content: text}},
		} {
			b.Run(fmt.Sprintf("%s/parts=%d", c.name, n), func(b *testing.B) {
				first := turnOf(n)
				s := first
				b.ReportAllocs()
				for i := 0; b.Loop(); i++ {
					if i%100_000 == 0 {
						s = first // 2 MB are a long answer
					}
					s = Reduce(s, c.a)
				}
			})
		}
	}
}

// BenchmarkReduceStream measures one delta of an answer of many deltas: the same at any length is
// linear.
func BenchmarkReduceStream(b *testing.B) {
	for _, n := range []int{1_000, 10_000, 100_000} {
		b.Run(fmt.Sprint("deltas=", n), func(b *testing.B) {
			a := &ChatDeltaAction{TurnID: "t", PartID: "text-9", Content: "twenty bytes of text"}
			for b.Loop() {
				s := turnOf(12)
				for range n {
					s = Reduce(s, a)
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*n), "ns/delta")
		})
	}
}

// BenchmarkReduceParts measures adding a part to a turn that grows, with Markdown and tool calls
// alternating.
func BenchmarkReduceParts(b *testing.B) {
	for _, n := range []int{100, 1_000, 10_000} {
		b.Run(fmt.Sprint("parts=", n), func(b *testing.B) {
			var actions []Action
			for i := range n / 2 {
				actions = append(actions,
					&ChatResponsePartAction{TurnID: "t",
						Part: ResponsePart{&MarkdownResponsePart{ID: fmt.Sprint("p", i)}}},
					&ChatToolCallStartAction{TurnID: "t", ToolCallID: fmt.Sprint("c", i), ToolName: "read"})
			}
			for b.Loop() {
				var s State = &ChatState{ActiveTurn: &ActiveTurn{ID: "t"}}
				for _, a := range actions {
					s = Reduce(s, a)
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*n), "ns/part")
		})
	}
}
