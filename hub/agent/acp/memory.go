package acp

import (
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"sync"

	"github.com/ahphub/ahphub/hub/agent"
	"github.com/ahphub/ahphub/hub/ahp"
)

// Memory keeps what an agent reported of itself in its last run, so that its settings, models and
// commands are known before it runs again. Tokens of clients are never written to disk. A nil
// Memory keeps nothing.
type Memory struct {
	path string

	mu     sync.Mutex
	known  remembered
	tokens map[string]token // by their method
	given  int              // number of changes of tokens
}

type remembered struct {
	Settings map[string]ahp.SessionConfigPropertySchema `json:"settings,omitempty"`
	Models   []ahp.SessionModelInfo                     `json:"models,omitempty"`
	Logins   []ahp.ProtectedResourceMetadata            `json:"logins,omitempty"`
	Commands []agent.SlashCommand                       `json:"commands,omitempty"`
	Auth     []authMethod                               `json:"auth,omitempty"`
	Dirs     bool                                       `json:"dirs,omitempty"`    // it accepts several directories
	NoLogin  bool                                       `json:"noLogin,omitempty"` // it needed a login last
}

// Remember reads a Memory from a file. A missing or unreadable file gives an empty Memory.
func Remember(path string) *Memory {
	m := &Memory{path: path, tokens: map[string]token{}}
	raw, err := os.ReadFile(path)
	if err != nil || json.Unmarshal(raw, &m.known) != nil {
		m.known = remembered{}
	}
	return m
}

// learn keeps new reports. Current values belong to their session.
func (m *Memory) learn(o agent.Offer) {
	m.change(func(r *remembered) { r.Settings, r.Models, r.Logins = o.Settings, o.Models, o.Logins })
}

func (m *Memory) learnCommands(list []agent.SlashCommand) {
	m.change(func(r *remembered) { r.Commands = list })
}

// learnAbout keeps a program's introduction.
func (m *Memory) learnAbout(about initializeResult) {
	m.change(func(r *remembered) {
		r.Auth, r.Dirs = about.AuthMethods, isObject(about.AgentCapabilities.SessionCapabilities.Dirs)
	})
}

// learnLogin keeps whether a program works without another login.
func (m *Memory) learnLogin(is bool) { m.change(func(r *remembered) { r.NoLogin = !is }) }

func (m *Memory) change(f func(*remembered)) {
	if m == nil {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	next := m.known
	f(&next)
	if reflect.DeepEqual(next, m.known) {
		return
	}
	m.known = next
	if m.path != "" {
		_ = m.write() // if it fails, it is learned again after a restart
	}
}

// write is short and rare: reports change with an agent's releases. m.mu is held.
func (m *Memory) write() error {
	raw, err := json.Marshal(m.known)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(m.path), 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	if err := os.WriteFile(m.path+".new", raw, 0o600); err != nil {
		return err
	}
	return os.Rename(m.path+".new", m.path)
}

func (m *Memory) get() remembered {
	if m == nil {
		return remembered{}
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.known
}

// Commands returns the commands of the last session.
func (m *Memory) Commands() []agent.SlashCommand { return m.get().Commands }
