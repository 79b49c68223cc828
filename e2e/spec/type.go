package spec

import "strings"

// Kind is the JSON form of a type's values.
type Kind string

// The kinds of type. A union's value is one of its variants; an enum is a String or Integer with Enum set.
const (
	String  Kind = "string"
	Integer Kind = "integer"
	Number  Kind = "number"
	Boolean Kind = "boolean"
	Null    Kind = "null"
	Any     Kind = "any" // no type is given
	Array   Kind = "array"
	Map     Kind = "map" // an object with any keys, each an Elem
	Object  Kind = "object"
	Union   Kind = "union"
)

// Mark is the certainty of a written difference. Published definitions are Exact.
type Mark string

// The marks of delta-1.0.md.
const (
	Exact  Mark = "exact"
	Near   Mark = "near"
	Unsure Mark = "unsure"
)

// Origin is the origin of a definition or a field.
type Origin struct {
	Release string // first release that has it according to the schema: "0.8.0", or "" for the base
	Mark    Mark
	Source  string // the schema, or the section of delta-1.0.md
}

// Type is a type of the protocol. Types refer to each other and may be recursive.
type Type struct {
	Name string // of the definition, "" for an unnamed type
	Kind Kind
	Origin

	Enum    []any    // the listed values: strings, booleans or json.Number
	Bits    []int64  // the flags of a bitset, such as SessionStatus
	Minimum *int64   // of a number
	Elem    *Type    // of an Array or Map
	Fields  []*Field // of an Object, sorted by name

	Variants      []*Type // of a Union
	Discriminator string  // the field that distinguishes the variants, "" if their kinds do
	Open          bool    // an enum or union that may carry values of later versions
}

// Field is a property of an object.
type Field struct {
	Name     string
	Type     *Type
	Required bool
	Origin
}

// Field returns the field with that name, nil for none.
func (t *Type) Field(name string) *Field {
	for _, f := range t.Fields {
		if f.Name == name {
			return f
		}
	}
	return nil
}

// Consts returns the values of a variant's discriminator: several if variants share a shape.
func (t *Type) Consts(discriminator string) []any {
	if f := t.Field(discriminator); f != nil {
		return f.Type.Enum
	}
	return nil
}

// closed are the enums that never get new values: all others are open (delta-1.0.md, enum
// openness).
var closed = map[string]bool{
	"ChatInteractivity": true, "PendingMessageKind": true, "ChatInputResponseKind": true, "ChatInputAnswerState": true,
	"TurnState": true, "ToolCallCancellationReason": true, "CustomizationLoadStatus": true, "ReconnectResultType": true,
	"ContentEncoding": true, "ResourceWriteMode": true, "TerminalClaimKind": true,
	"ChatInputAnswer": true, "CustomizationLoadState": true, "TerminalClaim": true, // by their discriminators
	"JsonPrimitive": true, "StringOrMarkdown": true, "ToolInput": true, // by their kinds
}

// Action is an action of a version.
type Action struct {
	Type    string // "chat/delta"
	Channel string // the kind of channel it belongs to, "chat"
	Object  *Type  // its fields, including type; a Union if the type has two shapes
}

// Method is a command or a notification.
type Method struct {
	Name   string // "createChat", "root/sessionAdded"
	Params *Type
	Result *Type // nil for none, as for methods that return null
}

func channelOf(actionType string) string {
	kind, _, _ := strings.Cut(actionType, "/")
	return kind
}

func pascal(s string) string {
	out := ""
	for word := range strings.SplitSeq(s, "/") {
		if word != "" {
			out += strings.ToUpper(word[:1]) + word[1:]
		}
	}
	return out
}

func camel(s string) string { return strings.ToLower(s[:1]) + s[1:] }
