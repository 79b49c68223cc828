package ahp

import "encoding/json"

// ConfigPropertySchema is a part of the protocol.
type ConfigPropertySchema struct {
	Type                 string                          `json:"type"`
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
}

// ConfigSchema is a part of the protocol.
type ConfigSchema struct {
	Type       string                          `json:"type"`
	Properties map[string]ConfigPropertySchema `json:"properties"`
	Required   []string                        `json:"required,omitzero"`
}

// SessionConfigPropertySchema is a part of the protocol.
type SessionConfigPropertySchema struct {
	Type                 string                          `json:"type"`
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
	EnumDynamic          *bool                           `json:"enumDynamic,omitempty"`
	SessionMutable       *bool                           `json:"sessionMutable,omitempty"`
}

// SessionConfigSchema is a part of the protocol.
type SessionConfigSchema struct {
	Type       string                                 `json:"type"`
	Properties map[string]SessionConfigPropertySchema `json:"properties"`
	Required   []string                               `json:"required,omitzero"`
}

// SessionConfigState is a part of the protocol.
type SessionConfigState struct {
	Schema SessionConfigSchema `json:"schema"`
	Values Meta                `json:"values"`
}

// RootConfigState is a part of the protocol.
type RootConfigState struct {
	Schema ConfigSchema `json:"schema"`
	Values Meta         `json:"values"`
}
