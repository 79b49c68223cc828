package telemetry

import (
	"encoding/base64"
	"encoding/json"
	"math"
	"strconv"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/sdk/instrumentation"
)

// OTLP in JSON, as far as the host uses it (AHP requirement 202): ids are hexadecimal, 64-bit
// integers are strings and enums are numbers, unlike the output of a Protocol Buffers library.

type otlpResource struct {
	Attributes []otlpAttribute `json:"attributes"`
}

type otlpScope struct {
	Name    string `json:"name,omitempty"`
	Version string `json:"version,omitempty"`
}

type otlpAttribute struct {
	Key   string    `json:"key"`
	Value otlpValue `json:"value"`
}

// otlpValue has one field set, or none for an empty value.
type otlpValue struct {
	String *string    `json:"stringValue,omitempty"`
	Bool   *bool      `json:"boolValue,omitempty"`
	Int    string     `json:"intValue,omitempty"`
	Double *float     `json:"doubleValue,omitempty"`
	Bytes  *string    `json:"bytesValue,omitempty"`
	Array  *otlpArray `json:"arrayValue,omitempty"`
	Map    *otlpMap   `json:"kvlistValue,omitempty"`
}

type otlpArray struct {
	Values []otlpValue `json:"values"`
}

type otlpMap struct {
	Values []otlpAttribute `json:"values"`
}

// float is a number that JSON may be unable to express.
type float float64

func (f float) MarshalJSON() ([]byte, error) {
	switch v := float64(f); {
	case math.IsNaN(v):
		return []byte(`"NaN"`), nil
	case math.IsInf(v, 1):
		return []byte(`"Infinity"`), nil
	case math.IsInf(v, -1):
		return []byte(`"-Infinity"`), nil
	default:
		return json.Marshal(v)
	}
}

func nanos(t time.Time) string {
	if t.IsZero() {
		return "0"
	}
	return strconv.FormatInt(t.UnixNano(), 10)
}

func number[N int | int64](n N) string { return strconv.FormatInt(int64(n), 10) }

func scopeOf(s instrumentation.Scope) otlpScope { return otlpScope{s.Name, s.Version} }

func quoted(s string) []byte {
	b, _ := json.Marshal(s) // strings always encode
	return b
}

// encode never fails: it encodes only types of this package.
func encode(v any) []byte {
	b, err := json.Marshal(v)
	if err != nil {
		return []byte(`{}`)
	}
	return b
}

// names maps short names in the log to the standard ones (AHP requirement 204).
var names = map[attribute.Key]string{
	"session": "ahp.session.id", "chat": "ahp.chat.id", "turn": "ahp.turn.id", "call": "ahp.tool_call.id",
	"terminal": "ahp.terminal.id", "changeset": "ahp.changeset.id", "client": "ahp.client.id",
}

func (t *Telemetry) attributes(list []attribute.KeyValue) []otlpAttribute {
	out := make([]otlpAttribute, 0, len(list))
	for _, kv := range list {
		out = append(out, t.attribute(kv))
	}
	return out
}

func (t *Telemetry) attribute(kv attribute.KeyValue) otlpAttribute {
	key := string(kv.Key)
	if name, short := names[kv.Key]; short {
		key = name
	}
	switch kv.Value.Type() {
	case attribute.INT64, attribute.FLOAT64, attribute.BOOL: // numbers such as token counts are not secret
	default:
		if secretKey.MatchString(key) {
			return otlpAttribute{key, stringValue(hidden)}
		}
	}
	return otlpAttribute{key, t.value(kv.Value)}
}

func stringValue(s string) otlpValue { return otlpValue{String: &s} }

func (t *Telemetry) value(v attribute.Value) otlpValue {
	switch v.Type() {
	case attribute.STRING:
		return stringValue(t.secrets.text(v.AsString()))
	case attribute.BOOL:
		b := v.AsBool()
		return otlpValue{Bool: &b}
	case attribute.INT64:
		return otlpValue{Int: number(v.AsInt64())}
	case attribute.FLOAT64:
		f := float(v.AsFloat64())
		return otlpValue{Double: &f}
	case attribute.BYTESLICE:
		s := base64.StdEncoding.EncodeToString(v.AsByteSlice())
		return otlpValue{Bytes: &s}
	case attribute.MAP:
		return otlpValue{Map: &otlpMap{t.attributes(v.AsMap())}}
	case attribute.SLICE:
		values := []otlpValue{}
		for _, e := range v.AsSlice() {
			values = append(values, t.value(e))
		}
		return otlpValue{Array: &otlpArray{values}}
	case attribute.EMPTY:
		return otlpValue{}
	}
	return stringValue(t.secrets.text(v.String())) // typed slices, which the host does not log
}
