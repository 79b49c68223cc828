package custom

import (
	"encoding/json"
	"fmt"
	"path"

	"github.com/ahphub/ahphub/hub/texts"
)

// readHooks lists the hooks of a settings file, one for each event and matcher, without the
// commands they run.
func readHooks(s *search, _ spot, file string) []Entry {
	at := s.abs(file)
	broken := func(problem string) []Entry {
		return []Entry{{ID: entryID(s.root, at, "hooks"), Kind: Hook, Name: path.Base(file), Path: at,
			Problem: problem}}
	}
	data, err := s.read(file, s.limits.Config, true)
	if err != nil {
		return broken(plain(err))
	}
	events, err := inside(data, "hooks")
	if err != nil {
		return broken("cannot be read: " + err.Error())
	}
	var out []Entry
	for _, e := range events {
		for i, what := range matched(e.raw) {
			out = append(out, Entry{ID: entryID(s.root, at, fmt.Sprintf("hook:%s:%s:%d", e.name, what, i)), Kind: Hook,
				Name: texts.ElideBytes(texts.OneLine(e.name), mostName), Description: what, Path: at, Line: e.line})
		}
	}
	return out
}

// matched returns what each hook of an event matches.
func matched(raw json.RawMessage) (out []string) {
	var list []struct {
		Matcher any `json:"matcher"`
	}
	if json.Unmarshal(raw, &list) != nil {
		return []string{""}
	}
	for _, h := range list {
		m := texts.ElideBytes(texts.OneLine(text(h.Matcher)), mostName)
		if m != "" {
			m = "for " + m
		}
		out = append(out, m)
	}
	return out
}
