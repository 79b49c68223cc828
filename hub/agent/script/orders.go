package script

import (
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/ahphub/ahphub/hub/agent"
	"github.com/ahphub/ahphub/hub/texts"
)

// Orders parses one-line orders, one step each.
func Orders(text string) ([]Step, error) {
	var steps []Step
	for line := range strings.SplitSeq(text, "\n") {
		if strings.TrimSpace(line) == "" {
			continue
		}
		some, err := order(strings.TrimSpace(line), 1)
		if err != nil {
			return nil, err
		}
		steps = append(steps, some...)
	}
	if len(steps) == 0 {
		return nil, errors.New("the message contains no orders")
	}
	return steps, nil
}

func order(line string, depth int) ([]Step, error) {
	verb, rest, _ := strings.Cut(line, " ")
	rest = strings.TrimSpace(rest)
	if strings.EqualFold(verb, "plan") {
		return plan, nil
	}
	s, err := step(strings.ToLower(verb), rest, depth)
	if err == nil {
		err = s.check(depth)
	}
	if err != nil {
		return nil, fmt.Errorf("%s is not a valid order: %w", agent.Code(line), err)
	}
	return []Step{s}, nil
}

func step(verb, rest string, depth int) (s Step, err error) {
	first, second, _ := strings.Cut(rest, " ")
	switch verb {
	case "say":
		s.Say = unescape(rest)
	case "think":
		s.Think = unescape(rest)
	case "notice":
		s.Notice = rest
	case "todo":
		s.Todo = rest
	case "run":
		s.Run = rest
	case "edit", "write":
		s.Edit, s.Text, s.Replace = first, unescape(second), verb == "write"
	case "ask":
		s.Ask = "all"
	case "call":
		s.Call, s.Input = first, second
	case "fail":
		s.Fail = rest
	case "hold":
		s.Hold = true
	case "count":
		s.Count, s.Every, err = numberAndPause(first, second)
	case "clock":
		s.Clock, s.Every, err = numberAndPause(first, second)
	case "burst":
		s.Burst, s.Bytes, err = twoNumbers(first, second)
	case "wait":
		_, s.Wait, err = numberAndPause("0", first)
	case "spawn":
		if depth >= maxDepth {
			return s, errors.New("too many nested sub-chats")
		}
		s.Spawn, s.Message = texts.ElideRunes(rest, 60), rest
		s.Steps, err = order(rest, depth+1)
	default:
		err = errors.New("this order does not exist")
	}
	return s, err
}

func numberAndPause(n, ms string) (int, Millis, error) {
	a, b, err := twoNumbers(n, ms)
	return a, Millis(time.Duration(b) * time.Millisecond), err
}

func twoNumbers(a, b string) (int, int, error) {
	x, err := strconv.Atoi(a)
	if err != nil {
		return 0, 0, fmt.Errorf("%q is not a number", a)
	}
	y := 0
	if b = strings.TrimSpace(b); b != "" {
		if y, err = strconv.Atoi(b); err != nil {
			return 0, 0, fmt.Errorf("%q is not a number", b)
		}
	}
	if x < 0 || y < 0 {
		return 0, 0, errors.New("numbers cannot be negative")
	}
	return x, y, nil
}

// unescape replaces the escapes for newlines and tabs in a line.
func unescape(s string) string {
	if !strings.Contains(s, `\`) {
		return s
	}
	if out, err := strconv.Unquote(`"` + strings.ReplaceAll(s, `"`, `\"`) + `"`); err == nil {
		return out
	}
	return s
}

// plan is a sample answer with several parts.
var plan = []Step{
	{Think: "First I look at what is there, then I say what I would do."},
	{Say: "Here is the plan:\n\n1. read the code\n2. change one thing\n3. run the tests\n"},
	{Notice: "Nothing was changed yet."},
	{Say: "| step | risk |\n| --- | --- |\n| read | none |\n| change | some |\n\n```go\nfunc main() { " +
		"println(\"hello\") }\n```\n"},
	{Action: string(usageAction)},
}

var usageAction = json.RawMessage(
	`{"type":"chat/usage","turnId":"","usage":{"inputTokens":1200,"outputTokens":340,"model":"script"}}`)
