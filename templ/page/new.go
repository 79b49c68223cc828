package page

import (
	"encoding/json"
	"net/url"
	"strings"

	"github.com/a-h/templ"

	"github.com/ahphub/ahphub/hub/ahp"
	"github.com/ahphub/ahphub/templ/part"
)

// New is the form that starts a session.
type New struct {
	Frame    part.Frame
	Dir      string
	Recent   []string // directories of earlier sessions
	Agents   []ahp.AgentInfo
	Agent    string
	Model    string
	Config   []ConfigField
	Message  string
	Problem  string // why the last try was refused
	Browse   Browse
	NoAgents bool
}

// Browse is a directory listing to choose from.
type Browse struct {
	Open   bool
	Dir    string
	Parent string // "" at the top
	Names  []string
	Error  string
}

// ConfigField is one setting of a session that the agent offers.
type ConfigField struct {
	Key, Title, Hint, Value string
	Choices                 []Choice // empty for free text
}

// Choice is one value of a setting.
type Choice struct{ Value, Label, Hint string }

// ConfigFields reads a schema in a stable order; only settings with a plain value are shown in the form.
func ConfigFields(s ahp.SessionConfigSchema, keys []string, values ahp.Meta) []ConfigField {
	var out []ConfigField
	for _, k := range keys {
		p := s.Properties[k]
		if p.Type != "string" && p.Type != "boolean" || isTrue(p.ReadOnly) {
			continue
		}
		f := ConfigField{Key: k, Title: p.Title, Hint: p.Description, Value: plain(p.Default)}
		if v, ok := values[k]; ok {
			f.Value = plain(v)
		}
		for i, e := range p.Enum {
			c := Choice{Value: plain(e), Label: plain(e)}
			if i < len(p.EnumLabels) {
				c.Label = p.EnumLabels[i]
			}
			if i < len(p.EnumDescriptions) {
				c.Hint = p.EnumDescriptions[i]
			}
			f.Choices = append(f.Choices, c)
		}
		if p.Type == "boolean" {
			f.Choices = []Choice{{"true", "On", ""}, {"false", "Off", ""}}
		}
		out = append(out, f)
	}
	return out
}

// plain is a JSON scalar as text.
func plain(raw json.RawMessage) string {
	var s string
	if json.Unmarshal(raw, &s) == nil {
		return s
	}
	return string(raw)
}

func isTrue(p *bool) bool { return p != nil && *p }

func browseHref(dir string) templ.SafeURL {
	return templ.SafeURL("/new?browse=yes&dir=" + url.QueryEscape(dir))
}

func join(dir, name string) string { return strings.TrimSuffix(dir, "/") + "/" + name }
