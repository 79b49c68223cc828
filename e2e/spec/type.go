package spec

import "strings"

// Kind is what a value of a type looks like in JSON.
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

// Mark says how sure the written differences are of something. What was published is Exact.
type Mark string

// The marks of delta-1.0.md.
const (
	Exact  Mark = "exact"
	Near   Mark = "near"
	Unsure Mark = "unsure"
)

// Origin says where a definition or a field comes from.
type Origin struct {
	Release string // the first release that has it as far as the schema tells: "0.8.0", or "" for the base
	Mark    Mark
	Source  string // the schema, or the section of delta-1.0.md
}

// Type is a type of the protocol. Types refer to each other and may be recursive.
type Type struct {
	Name string // of the definition, "" for one written in place
	Kind Kind
	Origin

	Enum    []any    // the values, when they are listed: strings, booleans or json.Number
	Bits    []int64  // the flags of a bitset, as SessionStatus is one
	Minimum *int64   // of a number
	Elem    *Type    // of an Array or Map
	Fields  []*Field // of an Object, sorted by name

	Variants      []*Type // of a Union
	Discriminator string  // the field that tells the variants apart, "" when their kinds do
	Open          bool    // an enum or union that may carry values of later versions
}

// Field is a property of an object.
type Field struct {
	Name     string
	Type     *Type
	Required bool
	Origin
}

// Field returns the field of that name, nil when the object has none.
func (t *Type) Field(name string) *Field {
	for _, f := range t.Fields {
		if f.Name == name {
			return f
		}
	}
	return nil
}

// Consts returns the values a variant's discriminator may have: one, or several where variants share a shape.
func (t *Type) Consts(discriminator string) []any {
	if f := t.Field(discriminator); f != nil {
		return f.Type.Enum
	}
	return nil
}

// closed are the enums that never get more values: everything else is open (delta-1.0.md, enum openness).
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
	Object  *Type  // its fields, type among them; a Union where the type has two shapes
}

// Method is a command or a notification.
type Method struct {
	Name   string // "createChat", "root/sessionAdded"
	Params *Type
	Result *Type // nil when it has none, as those that answer null
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
