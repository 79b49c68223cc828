package script

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/BurntSushi/toml"

	"github.com/ahphub/ahphub/hub/ahp"
)

// Limits of a scenario, so that a typo cannot cause an outage.
const (
	maxFile  = 4 << 20
	maxCount = 1_000_000
	maxBytes = 64 << 10
	maxDepth = 4
)

// Scenario is the content of a scenario file: turns, each played for the prompt it names; turns
// without a prompt are played in order for all other prompts.
type Scenario struct {
	Turns []Turn `toml:"turn"`
}

// Turn is one answer.
type Turn struct {
	Prompt string `toml:"prompt"` // ignoring case and spacing; "" answers any other prompt
	Steps  []Step `toml:"step"`
}

// Step is one thing to do: exactly one field of the first group is set, the others configure it.
type Step struct {
	Say    string `toml:"say"`    // Markdown text
	Think  string `toml:"think"`  // reasoning
	Notice string `toml:"notice"` // a note of the system
	Todo   string `toml:"todo"`   // a plan, as "[x] done | [>] now | [ ] later"
	Count  int    `toml:"count"`  // numbers up to it, one piece each
	Clock  int    `toml:"clock"`  // the time, this many times
	Burst  int    `toml:"burst"`  // this many pieces of Bytes bytes
	Run    string `toml:"run"`    // a command, after approval
	Edit   string `toml:"edit"`   // a file's path below the session's first directory
	Ask    string `toml:"ask"`    // "all", or a ChatInputRequest as JSON
	Call   string `toml:"call"`   // a tool of a client
	Spawn  string `toml:"spawn"`  // the title of a sub-chat
	Action string `toml:"action"` // any chat action as JSON; "$name" becomes an id
	Wait   Millis `toml:"wait"`   // a pause
	Hold   bool   `toml:"hold"`   // waits until the turn is cancelled
	Fail   string `toml:"fail"`   // ends the turn with this error

	Every   Millis `toml:"every"`   // between the pieces of a text
	Chunk   int    `toml:"chunk"`   // characters in a piece; 0: the text is one piece
	Bytes   int    `toml:"bytes"`   // of a piece of a burst
	Unasked bool   `toml:"unasked"` // run, edit: without approval
	Text    string `toml:"text"`    // what edit adds as a line
	Replace bool   `toml:"replace"` // edit: Text is the whole content
	Client  string `toml:"client"`  // call: which client; "" is any
	Input   string `toml:"input"`   // call: JSON
	Message string `toml:"message"` // spawn: the sub-chat's prompt
	Steps   []Step `toml:"step"`    // spawn: what the sub-chat does
	Final   bool   `toml:"final"`   // fail: cannot be resumed
}

// Millis is a duration, spelled "20ms" or "1.5s".
type Millis time.Duration

// UnmarshalText parses a duration.
func (m *Millis) UnmarshalText(b []byte) error {
	d, err := time.ParseDuration(string(b))
	if err == nil && d < 0 {
		err = errors.New("a pause cannot be negative")
	}
	*m = Millis(d)
	return err
}

// Load reads a scenario file.
func Load(path string) (*Scenario, error) {
	fi, err := os.Stat(path)
	if err != nil {
		return nil, fmt.Errorf("cannot read the scenario: %w", err)
	}
	if fi.Size() > maxFile {
		return nil, fmt.Errorf("the scenario %s is larger than %d MiB", path, maxFile>>20)
	}
	b, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("the scenario cannot be read: %w", err)
	}
	s, err := Parse(string(b))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return s, nil
}

// Parse parses a scenario in TOML and checks it, so that mistakes show at the start and not in the
// middle of a turn.
func Parse(text string) (*Scenario, error) {
	var s Scenario
	md, err := toml.Decode(text, &s)
	if err != nil {
		return nil, err
	}
	if extra := md.Undecoded(); len(extra) > 0 {
		return nil, fmt.Errorf("%q is not a field of a scenario. See the package's Step for the fields of a step",
			extra[0].String())
	}
	for i, t := range s.Turns {
		if err := checkSteps(t.Steps, 1); err != nil {
			return nil, fmt.Errorf("turn %d, %w", i+1, err)
		}
	}
	return &s, nil
}

func checkSteps(steps []Step, depth int) error {
	if depth > maxDepth {
		return errors.New("sub-chats are nested too deeply")
	}
	for i, s := range steps {
		if err := s.check(depth); err != nil {
			return fmt.Errorf("step %d: %w", i+1, err)
		}
	}
	return nil
}

// verbs returns the fields of the first group that are set.
func (s Step) verbs() (set []string) {
	for name, on := range map[string]bool{
		"say": s.Say != "", "think": s.Think != "", "notice": s.Notice != "", "todo": s.Todo != "",
		"count": s.Count != 0, "clock": s.Clock != 0, "burst": s.Burst != 0,
		"run": s.Run != "", "edit": s.Edit != "", "ask": s.Ask != "", "call": s.Call != "", "spawn": s.Spawn != "",
		"action": s.Action != "", "wait": s.Wait != 0, "hold": s.Hold, "fail": s.Fail != "",
	} {
		if on {
			set = append(set, name)
		}
	}
	return set
}

func (s Step) check(depth int) error {
	switch v := s.verbs(); {
	case len(v) == 0:
		return errors.New("the step has nothing to do")
	case len(v) > 1:
		return fmt.Errorf("the step has several things to do (%s). Make a step of each", strings.Join(v, ", "))
	case s.Count < 0 || s.Count > maxCount || s.Clock < 0 || s.Clock > maxCount || s.Burst < 0 || s.Burst > maxCount:
		return fmt.Errorf("use at most %d pieces", maxCount)
	case s.Bytes < 0 || s.Bytes > maxBytes:
		return fmt.Errorf("use at most %d bytes for a piece", maxBytes)
	}
	if s.Ask != "" {
		if _, err := request(s.Ask); err != nil {
			return err
		}
	}
	if s.Action != "" {
		if _, err := action(s.Action, ""); err != nil {
			return err
		}
	}
	if s.Input != "" && !json.Valid([]byte(s.Input)) {
		return fmt.Errorf("the input of %s is not JSON", s.Call)
	}
	return checkSteps(s.Steps, depth+1)
}

// findByPrompt returns the turn for a prompt.
func (s *Scenario) findByPrompt(prompt string) *Turn {
	if s == nil {
		return nil
	}
	for i := range s.Turns {
		if t := &s.Turns[i]; t.Prompt != "" && fold(t.Prompt) == fold(prompt) {
			return t
		}
	}
	return nil
}

// at returns the n-th turn without a prompt.
func (s *Scenario) at(n int) *Turn {
	if s == nil {
		return nil
	}
	for i := range s.Turns {
		if t := &s.Turns[i]; t.Prompt == "" {
			if n == 0 {
				return t
			}
			n--
		}
	}
	return nil
}

// action parses a chat action. An id written "$name" becomes an id of this turn, the same for all
// occurrences of the name.
func action(text, suffix string) (ahp.Action, error) {
	a, err := ahp.UnmarshalAction([]byte(idNames.ReplaceAllString(text, `"$1`+suffix+`"`)))
	if err != nil {
		return nil, fmt.Errorf("the action is not valid: %w", err)
	}
	info, ok := ahp.Info(a.ActionType())
	if !ok || info.Channel != ahp.ChannelChat {
		return nil, fmt.Errorf("%s is not a chat action", a.ActionType())
	}
	return a, nil
}
