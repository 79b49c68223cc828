package acp

import (
	"strings"

	"github.com/ahphub/ahphub/hub/agent"
	"github.com/ahphub/ahphub/hub/texts"
)

const mostCommands = 500

// setCommands takes the commands that a message may begin with.
func (s *session) setCommands(list []availableCommand) {
	commands := make([]agent.SlashCommand, 0, min(len(list), mostCommands))
	for _, c := range list[:min(len(list), mostCommands)] {
		name := texts.OneLine(strings.TrimPrefix(c.Name, "/")) // "memory show" is one, too
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

// Commands are those the program named in this session, or in one before.
func (s *session) Commands() []agent.SlashCommand {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.commands != nil {
		return s.commands
	}
	return s.memory.Commands()
}
