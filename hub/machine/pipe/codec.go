package pipe

import (
	"encoding/json"
	"fmt"
	"reflect"

	"github.com/fxamacker/cbor/v2"
	"storj.io/drpc"

	"github.com/ahphub/ahphub/hub/ahp"
)

// mostMessage bounds a decoded message of the other side: a file of 16 MB fits.
const mostMessage = 32 << 20

var (
	encMode = must(cbor.EncOptions{Time: cbor.TimeRFC3339NanoUTC, NilContainers: cbor.NilContainerAsNull}.EncMode())
	decMode = must(cbor.DecOptions{
		UTF8: cbor.UTF8DecodeInvalid, DupMapKey: cbor.DupMapKeyEnforcedAPF, IndefLength: cbor.IndefLengthForbidden,
		TagsMd: cbor.TagsAllowed, MaxNestedLevels: 32, MaxArrayElements: 1 << 20, MaxMapPairs: 1 << 20,
	}.DecMode())
)

func must[T any](v T, err error) T {
	if err != nil {
		panic(err) // the options are constants
	}
	return v
}

// Marshal encodes a message.
func Marshal(v any) ([]byte, error) { return encMode.Marshal(v) }

// Unmarshal decodes a message, which may be hostile.
func Unmarshal(b []byte, v any) error {
	if err := decMode.Unmarshal(b, v); err != nil {
		return fmt.Errorf("a message of the other side cannot be read: %w", err)
	}
	return nil
}

// encoding implements drpc.Encoding.
type encoding struct{}

// Marshal encodes a message of a stream.
func (encoding) Marshal(m drpc.Message) ([]byte, error) {
	b, err := Marshal(m)
	if err == nil && len(b) > mostMessage {
		err = errTooLarge
	}
	return b, err
}

// Unmarshal decodes a message of a stream.
func (encoding) Unmarshal(b []byte, m drpc.Message) error { return Unmarshal(b, m) }

// JSON is a protocol value within a message. Only JSON encodes its unions.
type JSON[T any] struct{ V T }

// MarshalCBOR writes the value as JSON in a byte string.
func (j JSON[T]) MarshalCBOR() ([]byte, error) {
	b, err := json.Marshal(j.V)
	if err != nil {
		return nil, err
	}
	return Marshal(b)
}

// UnmarshalCBOR reads the value.
func (j *JSON[T]) UnmarshalCBOR(b []byte) error {
	var raw []byte
	if err := Unmarshal(b, &raw); err != nil {
		return err
	}
	return json.Unmarshal(raw, &j.V)
}

// Actions are actions within a message.
type Actions []ahp.Action

// MarshalCBOR writes each action as JSON.
func (a Actions) MarshalCBOR() ([]byte, error) {
	raw := make([][]byte, len(a))
	for i, action := range a {
		var err error
		if raw[i], err = marshalAction(action); err != nil {
			return nil, err
		}
	}
	return Marshal(raw)
}

// UnmarshalCBOR reads the actions.
func (a *Actions) UnmarshalCBOR(b []byte) error {
	var raw [][]byte
	if err := Unmarshal(b, &raw); err != nil {
		return err
	}
	*a = make(Actions, len(raw))
	for i, r := range raw {
		var err error
		if (*a)[i], err = ahp.UnmarshalAction(r); err != nil {
			return err
		}
	}
	return nil
}

// Action is one action within a message.
type Action struct {
	V    ahp.Action
	Size int // of a received action, in bytes
}

// MarshalCBOR writes the action as JSON.
func (a Action) MarshalCBOR() ([]byte, error) {
	b, err := marshalAction(a.V)
	if err != nil {
		return nil, err
	}
	return Marshal(b)
}

// UnmarshalCBOR reads the action.
func (a *Action) UnmarshalCBOR(b []byte) (err error) {
	var raw []byte
	if err := Unmarshal(b, &raw); err != nil {
		return err
	}
	a.V, err = ahp.UnmarshalAction(raw)
	a.Size = len(raw)
	return err
}

func marshalAction(a ahp.Action) ([]byte, error) {
	if a == nil || reflect.ValueOf(a).IsZero() {
		return nil, fmt.Errorf("an action is missing")
	}
	return ahp.MarshalAction(a)
}
