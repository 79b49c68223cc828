package ahp

import "encoding/json"

// ConfigPropertySchema describes one setting: a small part of JSON Schema, with labels for people.
type ConfigPropertySchema struct {
	Type        string          `json:"type"` // string, number, boolean, array or object
	Title       string          `json:"title"`
	Description string          `json:"description,omitempty"`
	Default     json.RawMessage `json:"default,omitempty"`
	// allowed values: strings, numbers, booleans or null
	Enum                 []json.RawMessage               `json:"enum,omitzero"`
	EnumLabels           []string                        `json:"enumLabels,omitzero"`       // by index in Enum
	EnumDescriptions     []string                        `json:"enumDescriptions,omitzero"` // by index in Enum
	ReadOnly             *bool                           `json:"readOnly,omitempty"`
	Items                *ConfigPropertySchema           `json:"items,omitempty"`
	Properties           map[string]ConfigPropertySchema `json:"properties,omitzero"`
	Required             []string                        `json:"required,omitzero"`
	AdditionalProperties *ConfigPropertySchema           `json:"additionalProperties,omitempty"`
	MinItems             *int64                          `json:"minItems,omitempty"` // for arrays
	MaxItems             *int64                          `json:"maxItems,omitempty"` // for arrays
}

// ConfigSchema describes a set of settings.
type ConfigSchema struct {
	Type       string                          `json:"type"` // always object
	Properties map[string]ConfigPropertySchema `json:"properties"`
	Required   []string                        `json:"required,omitzero"`
}

// SessionConfigPropertySchema describes one setting of a session.
type SessionConfigPropertySchema struct {
	Type                 string                          `json:"type"` // string, number, boolean, array or object
	Title                string                          `json:"title"`
	Description          string                          `json:"description,omitempty"`
	Default              json.RawMessage                 `json:"default,omitempty"`
	Enum                 []json.RawMessage               `json:"enum,omitzero"`
	EnumLabels           []string                        `json:"enumLabels,omitzero"`
	EnumDescriptions     []string                        `json:"enumDescriptions,omitzero"`
	ReadOnly             *bool                           `json:"readOnly,omitempty"`
	Items                *ConfigPropertySchema           `json:"items,omitempty"`
	Properties           map[string]ConfigPropertySchema `json:"properties,omitzero"`
	Required             []string                        `json:"required,omitzero"`
	AdditionalProperties *ConfigPropertySchema           `json:"additionalProperties,omitempty"`
	MinItems             *int64                          `json:"minItems,omitempty"`
	MaxItems             *int64                          `json:"maxItems,omitempty"`
	// values come from sessionConfigCompletions
	EnumDynamic *bool `json:"enumDynamic,omitempty"`
	// may change while the session lives (AHP requirement 84)
	SessionMutable *bool `json:"sessionMutable,omitempty"`
}

// SessionConfigSchema describes the settings of a session.
type SessionConfigSchema struct {
	Type       string                                 `json:"type"` // always object
	Properties map[string]SessionConfigPropertySchema `json:"properties"`
	Required   []string                               `json:"required,omitzero"`
}

// SessionConfigState holds a session's settings and their schema.
type SessionConfigState struct {
	Schema SessionConfigSchema `json:"schema"`
	Values Meta                `json:"values"`
}

// RootConfigState holds the host's settings and their schema.
type RootConfigState struct {
	Schema ConfigSchema `json:"schema"`
	Values Meta         `json:"values"`
}
