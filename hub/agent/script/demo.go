package script

import (
	_ "embed"
)

//go:embed demo.toml
var demo string

// Demo is the built-in scenario: a turn for each state a chat can be in.
func Demo() *Scenario {
	s, err := Parse(demo)
	if err != nil {
		panic("the built-in scenario is broken: " + err.Error()) // it is compiled in and tested
	}
	return s
}

// Prompts returns the prompts that the scenario has a turn for, in its order.
func (s *Scenario) Prompts() []string {
	var out []string
	for _, t := range s.Turns {
		if t.Prompt != "" {
			out = append(out, t.Prompt)
		}
	}
	return out
}
