package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/BurntSushi/toml"

	"github.com/ahphub/ahphub/hub/agent/acp"
)

// configFile provides values of flags from a TOML file, if neither the command line nor the
// environment sets them.
type configFile struct {
	path   string
	values map[string]any
	agents []acp.Program // its [[agent]] tables
	pass   []string      // env of its [agents] table
	limits acp.Limits    // its [limits] table
}

// readConfigFile reads the file named by --config or AHPHUB_CONFIG, or the default one if it
// exists.
func readConfigFile(args []string) (configFile, error) {
	path := configPath(args)
	optional := path == ""
	if optional {
		dir, err := os.UserConfigDir()
		if err != nil {
			return configFile{}, nil
		}
		path = filepath.Join(dir, "ahphub", "config.toml")
	}
	f := configFile{path: path}
	_, err := toml.DecodeFile(path, &f.values)
	if optional && errors.Is(err, fs.ErrNotExist) {
		return f, nil
	}
	if err != nil {
		return f, fmt.Errorf("cannot read the configuration file %s: %w", path, err)
	}
	return f, errors.Join(f.takeAgents(), f.takePass(), f.takeLimits())
}

func (f *configFile) takeLimits() (err error) {
	if _, table := f.values["limits"].(map[string]any); !table {
		return nil
	}
	delete(f.values, "limits")
	if f.limits, err = readLimits(f.path); err != nil {
		return fmt.Errorf("the configuration file %s: %w", f.path, err)
	}
	return nil
}

// takePass reads the [agents] table.
func (f *configFile) takePass() (err error) {
	if _, table := f.values["agents"].(map[string]any); !table {
		return nil
	}
	delete(f.values, "agents")
	if f.pass, err = readPass(f.path); err != nil {
		return fmt.Errorf("the configuration file %s: %w", f.path, err)
	}
	return nil
}

// takeAgents reads the [[agent]] tables. The key agent then holds the flag's value, the name of the
// default table.
func (f *configFile) takeAgents() error {
	if _, tables := f.values["agent"].([]map[string]any); !tables {
		return nil
	}
	var def string
	var err error
	if f.agents, def, err = readAgents(f.path); err != nil {
		return fmt.Errorf("the configuration file %s: %w", f.path, err)
	}
	delete(f.values, "agent")
	if def != "" {
		f.values["agent"] = def
	}
	return nil
}

func configPath(args []string) string {
	for i, a := range args {
		if v, ok := strings.CutPrefix(a, "--config="); ok {
			return v
		}
		if a == "--config" && i+1 < len(args) {
			return args[i+1]
		}
	}
	return os.Getenv("AHPHUB_CONFIG")
}

// check refuses keys that are not flags of any command, so that a misspelled one is not ignored.
func (f configFile) check(known []*option) error {
	for key := range f.values {
		isKnown := slices.ContainsFunc(known, func(o *option) bool { return o.name == key })
		if !isKnown || key == "config" {
			return fmt.Errorf("the configuration file %s has the key %q: use the names of the flags, as in listen",
				f.path, key)
		}
	}
	return nil
}

// value returns the value of a flag as text, as on the command line.
func (f configFile) value(name string) (text string, found bool) {
	switch v := f.values[name].(type) {
	case nil:
		return "", false
	case []any:
		parts := make([]string, len(v))
		for i, e := range v {
			parts[i] = fmt.Sprint(e)
		}
		return strings.Join(parts, ","), true
	default:
		return fmt.Sprint(v), true
	}
}
