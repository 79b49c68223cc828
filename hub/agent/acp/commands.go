package acp

import (
	"strings"

	"github.com/ahphub/ahphub/hub/agent"
	"github.com/ahphub/ahphub/hub/texts"
)

const mostCommands = 500

// setCommands stores the commands that a message can begin with.
func (s *session) setCommands(list []availableCommand) {
	commands := make([]agent.SlashCommand, 0, min(len(list), mostCommands))
	for _, c := range list[:min(len(list), mostCommands)] {
		name := texts.OneLine(strings.TrimPrefix(c.Name, "/")) // "memory show" is one command, too
		if name == "" {
			continue
		}
		out := agent.SlashCommand{Name: name, Description: texts.ElideBytes(c.Description, 500)}
		if c.Input != nil {
			out.Hint = texts.ElideBytes(c.Input.Hint, 200)
		}
		commands = append(commands, out)
	}
	s.mu.Lock()
	s.commands = commands
	s.mu.Unlock()
	s.memory.learnCommands(commands)
}

// Commands returns the program's commands in this session, or in an earlier one.
func (s *session) Commands() []agent.SlashCommand {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.commands != nil {
		return s.commands
	}
	return s.memory.Commands()
}
