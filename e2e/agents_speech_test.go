package e2e

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
)

// speech is how one provider's protocol streams an answer.
type speech interface {
	say(text string)
	call(tool string, input any) // also ends the answer
	end()
}

// read parses a question according to its path; a nil speech means that it is not a question.
func read(path string, body []byte, w http.ResponseWriter) (question, speech) {
	switch {
	case strings.HasSuffix(path, "/chat/completions"):
		return readOpenAI(body), &openAI{events{w}}
	case strings.HasSuffix(path, "/messages"):
		return readAnthropic(body, w)
	case strings.HasSuffix(path, ":generateContent"):
		return question{}, &chosen{w}
	case strings.HasSuffix(path, ":streamGenerateContent"):
		return readGemini(body), gemini{events{w}}
	}
	return question{}, nil
}

// events writes server-sent events.
type events struct{ w http.ResponseWriter }

func (e events) send(name string, v any) {
	e.w.Header().Set("Content-Type", "text/event-stream")
	raw, _ := json.Marshal(v) // maps of strings and numbers always encode
	if name != "" {
		fmt.Fprintf(e.w, "event: %s\n", name)
	}
	fmt.Fprintf(e.w, "data: %s\n\n", raw)
	e.w.(http.Flusher).Flush()
}

type object = map[string]any

// piece is a part of a message in any of the protocols.
type piece struct {
	Type    string
	Text    string
	Content json.RawMessage // of a tool's result

	ToolUseID        string `json:"tool_use_id"`
	FunctionResponse *struct {
		Name     string
		Response json.RawMessage
	}
}

// plain returns the text of content that is a string or a list of pieces; result is the id of a
// tool call among them.
func plain(content json.RawMessage) (text, result string) {
	var s string
	if json.Unmarshal(content, &s) == nil {
		return s, ""
	}
	var parts []piece
	_ = json.Unmarshal(content, &parts) // neither: no text
	for _, p := range parts {
		if p.ToolUseID != "" {
			result = p.ToolUseID
			p.Text, _ = plain(p.Content)
		}
		if f := p.FunctionResponse; f != nil {
			result, p.Text = f.Name, string(f.Response)
		}
		text += p.Text + "\n"
	}
	return text, result
}

// callID returns an id that contains the tool's name, to identify the tool of a result.
func callID(tool string) string { return "call_" + tool }

func toolOf(id string) string { return strings.TrimPrefix(id, "call_") }

// openAI implements chat completions.
type openAI struct{ events }

func readOpenAI(body []byte) question {
	var q struct {
		Model    string
		Messages []struct {
			Role       string
			Content    json.RawMessage
			ToolCallID string `json:"tool_call_id"`
		}
		Tools []struct{ Function struct{ Name string } }
	}
	if json.Unmarshal(body, &q) != nil || len(q.Messages) == 0 {
		return question{}
	}
	last := q.Messages[len(q.Messages)-1]
	out := question{model: q.Model, raw: string(body), count: len(q.Messages), result: toolOf(last.ToolCallID)}
	out.text, _ = plain(last.Content)
	for _, t := range q.Tools {
		out.tools = append(out.tools, t.Function.Name)
	}
	return out
}

func (a *openAI) chunk(delta object, finish any) {
	c := object{"id": "1", "object": "chat.completion.chunk", "created": 1, "model": "m",
		"choices": []any{object{"index": 0, "delta": delta, "finish_reason": finish}}}
	if finish != nil {
		c["usage"] = object{"prompt_tokens": 1200, "completion_tokens": 34, "total_tokens": 1234}
	}
	a.send("", c)
}

func (a *openAI) say(text string) { a.chunk(object{"role": "assistant", "content": text}, nil) }

func (a *openAI) call(tool string, input any) {
	raw, _ := json.Marshal(input)
	a.chunk(object{"role": "assistant", "tool_calls": []any{object{"index": 0, "id": callID(tool), "type": "function",
		"function": object{"name": tool, "arguments": string(raw)}}}}, nil)
	a.finish("tool_calls")
}

func (a *openAI) end() { a.finish("stop") }

func (a *openAI) finish(reason string) {
	a.chunk(object{}, reason)
	fmt.Fprint(a.w, "data: [DONE]\n\n")
}

// anthropic implements messages.
type anthropic struct {
	events
	blocks int
}

func readAnthropic(body []byte, w http.ResponseWriter) (question, speech) {
	var q struct {
		Model    string
		Messages []struct{ Content json.RawMessage }
		Tools    []struct{ Name string }
		Stream   bool
	}
	if json.Unmarshal(body, &q) != nil || len(q.Messages) == 0 {
		return question{}, nil
	}
	out := question{model: q.Model, raw: string(body), count: len(q.Messages)}
	text, result := plain(q.Messages[len(q.Messages)-1].Content)
	out.text, out.result = text, toolOf(result)
	for _, t := range q.Tools {
		out.tools = append(out.tools, t.Name)
	}
	a := &anthropic{events: events{w}}
	if !q.Stream {
		return question{}, &whole{w}
	}
	a.send("message_start", object{"type": "message_start", "message": object{"id": "msg_1", "type": "message",
		"role": "assistant", "model": q.Model, "content": []any{}, "stop_reason": nil, "stop_sequence": nil,
		"usage": object{"input_tokens": 1200, "output_tokens": 1}}})
	return out, a
}

func (a *anthropic) block(start, delta object) {
	i := a.blocks
	a.blocks++
	a.send("content_block_start", object{"type": "content_block_start", "index": i, "content_block": start})
	a.send("content_block_delta", object{"type": "content_block_delta", "index": i, "delta": delta})
	a.send("content_block_stop", object{"type": "content_block_stop", "index": i})
}

func (a *anthropic) say(text string) {
	a.block(object{"type": "text", "text": ""}, object{"type": "text_delta", "text": text})
}

func (a *anthropic) call(tool string, input any) {
	raw, _ := json.Marshal(input)
	a.block(object{"type": "tool_use", "id": callID(tool), "name": tool, "input": object{}},
		object{"type": "input_json_delta", "partial_json": string(raw)})
	a.finish("tool_use")
}

func (a *anthropic) end() { a.finish("end_turn") }

func (a *anthropic) finish(reason string) {
	a.send("message_delta", object{"type": "message_delta", "delta": object{"stop_reason": reason,
		"stop_sequence": nil}, "usage": object{"output_tokens": 34}})
	a.send("message_stop", object{"type": "message_stop"})
}

// whole answers without streaming.
type whole struct{ w http.ResponseWriter }

func (a *whole) say(text string) {
	a.w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(a.w).Encode(object{"id": "msg_1", "type": "message", "role": "assistant", "model": "m",
		"stop_reason": "end_turn", "content": []any{object{"type": "text", "text": text}},
		"usage": object{"input_tokens": 1, "output_tokens": 1}})
}

func (a *whole) call(string, any) {}
func (a *whole) end()             {}

// gemini implements generateContent.
type gemini struct{ events }

func readGemini(body []byte) question {
	var q struct {
		Contents []struct{ Parts json.RawMessage }
		Tools    []struct{ FunctionDeclarations []struct{ Name string } }
	}
	if json.Unmarshal(body, &q) != nil || len(q.Contents) == 0 {
		return question{}
	}
	out := question{raw: string(body), count: len(q.Contents)}
	out.text, out.result = plain(q.Contents[len(q.Contents)-1].Parts)
	for _, t := range q.Tools {
		for _, f := range t.FunctionDeclarations {
			out.tools = append(out.tools, f.Name)
		}
	}
	return out
}

func (a gemini) part(p object, finish string) {
	c := object{"content": object{"role": "model", "parts": []any{p}}, "index": 0}
	if finish != "" {
		c["finishReason"] = finish
	}
	a.send("", object{"candidates": []any{c}, "modelVersion": "m",
		"usageMetadata": object{"promptTokenCount": 1200, "candidatesTokenCount": 34, "totalTokenCount": 1234}})
}

func (a gemini) say(text string) { a.part(object{"text": text}, "") }

func (a gemini) call(tool string, input any) {
	a.part(object{"functionCall": object{"name": tool, "args": input}}, "STOP")
}

func (a gemini) end() { a.part(object{"text": " "}, "STOP") }

// chosen answers Gemini CLI's additional requests: which model should answer, and who speaks next.
type chosen struct{ w http.ResponseWriter }

func (a *chosen) say(string) {
	text := `{"reasoning":"short","model_choice":"flash","complexity_reasoning":"short","complexity_score":1,"next_speaker":"user"}`
	a.w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(a.w).Encode(object{"candidates": []any{object{"index": 0, "finishReason": "STOP",
		"content": object{"role": "model", "parts": []any{object{"text": text}}}}}})
}

func (a *chosen) call(string, any) {}
func (a *chosen) end()             {}
