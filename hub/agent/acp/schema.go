package acp

import (
	"bytes"
	"encoding/json"
)

// elicitParams are the parameters of elicitation/create.
type elicitParams struct {
	SessionID  string `json:"sessionId"`
	ToolCallID string `json:"toolCallId"`
	Mode       string `json:"mode"` // form, url
	Message    string `json:"message"`
	ID         string `json:"elicitationId"` // of an address
	URL        string `json:"url"`
	Schema     struct {
		Properties properties `json:"properties"`
		Required   []string   `json:"required"`
	} `json:"requestedSchema"`
}

// withdrawal ends a question without an answer: the visit of an address has completed
// (elicitation/complete), or the program no longer waits ($/cancel_request).
type withdrawal struct {
	ID      string          `json:"elicitationId"`
	Request json.RawMessage `json:"requestId"`
}

// property is one field of a form: the subset of JSON Schema that forms may use.
type property struct {
	Type        string          `json:"type"`
	Title       string          `json:"title"`
	Description string          `json:"description"`
	Default     json.RawMessage `json:"default"`
	Format      string          `json:"format"`
	Pattern     string          `json:"pattern"`
	MinLength   *int64          `json:"minLength"`
	MaxLength   *int64          `json:"maxLength"`
	Minimum     *float64        `json:"minimum"`
	Maximum     *float64        `json:"maximum"`
	MinItems    *int64          `json:"minItems"`
	MaxItems    *int64          `json:"maxItems"`
	Enum        []string        `json:"enum"`
	EnumNames   []string        `json:"enumNames"`
	OneOf       []enumOption    `json:"oneOf"`
	AnyOf       []enumOption    `json:"anyOf"`
	Items       *property       `json:"items"`
}

type enumOption struct {
	Const       string `json:"const"`
	Title       string `json:"title"`
	Description string `json:"description"`
}

// properties keep the order of the JSON object, which is the form's order.
type properties []namedProperty

type namedProperty struct {
	name string
	property
}

// UnmarshalJSON decodes an object's members in order; of duplicates the last counts.
func (ps *properties) UnmarshalJSON(raw []byte) error {
	*ps = nil
	all := map[string]property{}
	if err := json.Unmarshal(raw, &all); err != nil || all == nil {
		return err
	}
	d := json.NewDecoder(bytes.NewReader(raw))
	if _, err := d.Token(); err != nil {
		return err
	}
	for d.More() {
		key, err := d.Token()
		if err != nil {
			return err
		}
		name, _ := key.(string)
		var skipped json.RawMessage
		if err := d.Decode(&skipped); err != nil {
			return err
		}
		if p, ok := all[name]; ok {
			*ps = append(*ps, namedProperty{name, p})
			delete(all, name)
		}
	}
	return nil
}
