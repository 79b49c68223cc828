package host

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/ahphub/ahphub/hub/host/sandboxes"

	"github.com/ahphub/ahphub/hub/agent"
	"github.com/ahphub/ahphub/hub/ahp"
	"github.com/ahphub/ahphub/hub/host/core"
	"github.com/ahphub/ahphub/hub/texts"
)

// approvalKey is the setting for which tool calls need approval.
const approvalKey = agent.ApprovalKey

// ownersSetting reports whether only the owner may change a setting, because it bounds what runs
// without approval.
func ownersSetting(key string) bool {
	return key == approvalKey || key == agent.AllowedKey || key == sandboxes.Key ||
		key == sandboxes.NetworkKey
}

// Unasked reports whether a setting's value disables approvals. Pages warn about it.
func Unasked(key, value string) bool { return key == approvalKey && value == agent.ApprovalAuto }

// newConfigOf returns the settings of a session that a client creates. Clients also send settings
// of other hosts; the result contains only the known ones.
func newConfigOf(schema ahp.SessionConfigSchema, asked ahp.Meta) (*ahp.SessionConfigState, error) {
	return newConfig(schema, knownSettings(schema, asked))
}

// newConfig validates settings against an agent's schema and fills in defaults.
func newConfig(schema ahp.SessionConfigSchema, asked ahp.Meta) (*ahp.SessionConfigState, error) {
	if len(schema.Properties) == 0 {
		return nil, nil
	}
	values := ahp.Meta{}
	for key, p := range schema.Properties {
		if p.Default != nil {
			values[key] = p.Default
		}
	}
	for _, key := range slices.Sorted(maps.Keys(asked)) {
		if reason := checkSetting(schema, key, asked[key]); reason != "" {
			return nil, core.BadParams("config: %s", reason)
		}
		values[key] = asked[key]
	}
	for _, key := range schema.Required {
		if values[key] == nil {
			return nil, core.BadParams("config: %s is required", key)
		}
	}
	return &ahp.SessionConfigState{Schema: schema, Values: values}, nil
}

func checkSetting(schema ahp.SessionConfigSchema, key string, value json.RawMessage) string {
	p, ok := schema.Properties[key]
	if !ok {
		return fmt.Sprintf("there is no setting %q; there are: %s", key,
			strings.Join(slices.Sorted(maps.Keys(schema.Properties)), ", "))
	}
	if !isType(p.Type, value) {
		return fmt.Sprintf("%s must be of type %s", key, p.Type)
	}
	if dynamic := p.EnumDynamic != nil && *p.EnumDynamic; !dynamic && !allows(p, value) {
		return fmt.Sprintf("%s cannot be %s; it is one of %s", key, texts.CutBytes(string(value), 80),
			bytes.Join(rawList(p.Enum), []byte(", ")))
	}
	return ""
}

func rawList(raws []json.RawMessage) [][]byte {
	out := make([][]byte, len(raws))
	for i, r := range raws {
		out[i] = r
	}
	return out
}

func isType(want string, raw json.RawMessage) bool {
	var v any
	if json.Unmarshal(raw, &v) != nil {
		return false
	}
	switch v.(type) {
	case string:
		return want == "string"
	case float64:
		return want == "number"
	case bool:
		return want == "boolean"
	case []any:
		return want == "array"
	case map[string]any:
		return want == "object"
	}
	return false
}

func sameJSON(a, b json.RawMessage) bool {
	var x, y bytes.Buffer
	return json.Compact(&x, a) == nil && json.Compact(&y, b) == nil && bytes.Equal(x.Bytes(), y.Bytes())
}

// checkConfigChanged accepts changes only of settings that the schema marks sessionMutable (AHP
// requirement 84). Replacing all settings keeps the others.
func (h *Host) checkConfigChanged(r *core.Request, s *ahp.SessionState, a *ahp.SessionConfigChangedAction) string {
	if s.Config == nil {
		return "this session has no settings"
	}
	schema := Settings(s).Schema
	values := maps.Clone(withApproval(schema, a.Config))
	if values == nil {
		values = ahp.Meta{}
	}
	changed := ahp.Meta{}
	for _, key := range slices.Sorted(maps.Keys(values)) {
		if sameJSON(values[key], s.Config.Values[key]) {
			continue
		}
		if reason := checkSetting(schema, key, values[key]); reason != "" {
			return reason
		}
		if !mutable(schema, key) {
			return key + " is fixed once a session exists: create another session for another value"
		}
		if ownersSetting(key) && !r.Caller.IsOwner() {
			return "only the owner can change what needs approval"
		}
		changed[key] = values[key]
	}
	if a.Replace != nil && *a.Replace {
		for key, value := range s.Config.Values {
			if _, given := values[key]; !given && (!mutable(schema, key) || ownersSetting(key) && !r.Caller.IsOwner()) {
				values[key] = value
			}
		}
	}
	a.Config = values
	r.Tx.Effect(r.Info.URI, func(ctx context.Context) { h.handleSettingsChanged(ctx, r.Info.URI, changed) })
	return ""
}

func mutable(schema ahp.SessionConfigSchema, key string) bool {
	m := schema.Properties[key].SessionMutable
	return m != nil && *m
}

// ResolveSessionConfig returns the settings of sessions with an agent, and the values that they
// would get (AHP requirement 63).
func (h *Host) ResolveSessionConfig(c core.Caller, p ahp.ResolveSessionConfigParams) (ahp.ResolveSessionConfigResult,
	error) {
	none := ahp.ResolveSessionConfigResult{}
	if err := c.MayCall("resolveSessionConfig", core.RootInfo); err != nil {
		return none, err
	}
	backend, err := h.agents.Find(p.Provider)
	if err != nil {
		return none, err
	}
	config, err := newConfigOf(h.schemaOf(backend), p.Config)
	if err != nil {
		return none, err
	}
	if config == nil {
		return ahp.ResolveSessionConfigResult{Schema: ahp.SessionConfigSchema{Type: "object",
			Properties: map[string]ahp.SessionConfigPropertySchema{}}, Values: ahp.Meta{}}, nil
	}
	return ahp.ResolveSessionConfigResult{Schema: config.Schema, Values: config.Values}, nil
}

// schemaOf returns an agent's settings and the host's own.
func (h *Host) schemaOf(b agent.Backend) ahp.SessionConfigSchema {
	return h.Sandboxes.AddSettings(h.Worktrees.AddSettings(b.Config()))
}
