package ahp

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"reflect"
	"strconv"
	"sync"
)

var errNoType = errors.New("ahp: an action needs a string type")

// Unmarshal reads the wire form into v, a pointer. Unlike encoding/json, it matches names exactly,
// treats null as an absent field, rounds a fraction in a whole-number field (clients send measured
// durations), and keeps unknown variants and actions as they were sent. Unknown fields are skipped.
// Nesting deeper than 256 is an error.
func Unmarshal(data []byte, v any) error {
	rv := reflect.ValueOf(v)
	if rv.Kind() != reflect.Pointer || rv.IsNil() {
		return fmt.Errorf("ahp: cannot decode into %T", v)
	}
	d := &cursor{b: data}
	if err := decoderOf(rv.Type().Elem())(d, rv.Elem()); err != nil {
		return err
	}
	if d.peek() != 0 || d.i < len(d.b) {
		return d.fail("more after the value")
	}
	return nil
}

type decoder func(d *cursor, v reflect.Value) error

var decoders sync.Map // reflect.Type → decoder

func decoderOf(t reflect.Type) decoder {
	if e, ok := decoders.Load(t); ok {
		return e.(decoder)
	}
	// As in encoderOf: a placeholder for recursive types.
	var ready sync.WaitGroup
	var made decoder
	ready.Add(1)
	standIn := decoder(func(d *cursor, v reflect.Value) error {
		ready.Wait()
		return made(d, v)
	})
	if e, loaded := decoders.LoadOrStore(t, standIn); loaded {
		return e.(decoder)
	}
	made = newDecoder(t)
	ready.Done()
	decoders.Store(t, made)
	return made
}

var ownDecoders map[reflect.Type]decoder

func init() {
	ownDecoders = map[reflect.Type]decoder{
		rawType:                                   decodeRaw,
		reflect.TypeFor[Text]():                   decodeText,
		reflect.TypeFor[Parts]():                  decodeParts,
		reflect.TypeFor[StringOrMarkdown]():       decodeStringOrMarkdown,
		reflect.TypeFor[ToolInput]():              decodeToolInput,
		reflect.TypeFor[TerminalLifecycleState](): decodeLifecycle,
		reflect.TypeFor[Snapshot]():               decodeSnapshot,
		reflect.TypeFor[UnknownVariant](): func(d *cursor, v reflect.Value) error {
			return decodeRaw(d,
				v.Field(0))
		},
		actionType: decodeAction,
	}
}

func newDecoder(t reflect.Type) decoder {
	if e, ok := ownDecoders[t]; ok {
		return e
	}
	if u, ok := unionKinds[t]; ok {
		return newUnionDecoder(u)
	}
	switch t.Kind() {
	case reflect.String:
		return decodeString
	case reflect.Bool:
		return decodeBool
	case reflect.Int, reflect.Int64:
		return decodeInt
	case reflect.Float64:
		return decodeFloat
	case reflect.Pointer:
		return newPointerDecoder(t)
	case reflect.Slice:
		return newSliceDecoder(t)
	case reflect.Map:
		return newMapDecoder(t)
	case reflect.Struct:
		return newStructDecoder(t)
	}
	return func(d *cursor, v reflect.Value) error { // any other type decodes itself
		raw, err := d.raw()
		if err != nil {
			return err
		}
		return json.Unmarshal(raw, v.Addr().Interface())
	}
}

func decodeString(d *cursor, v reflect.Value) error {
	if d.null() {
		return nil
	}
	s, err := d.str()
	if err == nil {
		v.SetString(s)
	}
	return err
}

func decodeText(d *cursor, v reflect.Value) error {
	if d.null() {
		return nil
	}
	s, err := d.str()
	if err == nil {
		v.Set(reflect.ValueOf(NewText(s)))
	}
	return err
}

func decodeParts(d *cursor, v reflect.Value) error {
	var parts []ResponsePart
	err := decoderOf(reflect.TypeFor[[]ResponsePart]())(d, reflect.ValueOf(&parts).Elem())
	v.Set(reflect.ValueOf(NewParts(parts...)))
	return err
}

func decodeBool(d *cursor, v reflect.Value) error {
	if d.null() {
		return nil
	}
	switch {
	case d.literal("true"):
		v.SetBool(true)
	case d.literal("false"):
		v.SetBool(false)
	default:
		return d.fail("expected true or false")
	}
	return nil
}

func decodeInt(d *cursor, v reflect.Value) error {
	if d.null() {
		return nil
	}
	lit, err := d.number()
	if err != nil {
		return err
	}
	if n, err := strconv.ParseInt(lit, 10, 64); err == nil {
		v.SetInt(n)
		return nil
	}
	f, err := strconv.ParseFloat(lit, 64)
	if err != nil || math.Abs(f) >= 1<<63 {
		return d.fail("number out of range")
	}
	v.SetInt(int64(math.Round(f)))
	return nil
}

func decodeFloat(d *cursor, v reflect.Value) error {
	if d.null() {
		return nil
	}
	lit, err := d.number()
	if err != nil {
		return err
	}
	f, err := strconv.ParseFloat(lit, 64)
	if err != nil {
		return d.fail("number out of range")
	}
	v.SetFloat(f)
	return nil
}

func decodeRaw(d *cursor, v reflect.Value) error {
	raw, err := d.copyRaw()
	if err == nil {
		v.SetBytes(raw)
	}
	return err
}

func decodeStringOrMarkdown(d *cursor, v reflect.Value) error {
	if d.null() {
		return nil
	}
	if d.peek() == '"' {
		s, err := d.str()
		v.Set(reflect.ValueOf(StringOrMarkdown{Text: s}))
		return err
	}
	var form markdownForm
	err := decoderOf(reflect.TypeFor[markdownForm]())(d, reflect.ValueOf(&form).Elem())
	v.Set(reflect.ValueOf(StringOrMarkdown{Text: form.Markdown, Markdown: true}))
	return err
}

func decodeToolInput(d *cursor, v reflect.Value) error {
	if d.null() {
		return nil
	}
	if d.peek() == '"' {
		s, err := d.str()
		v.Set(reflect.ValueOf(ToolInput{Text: s}))
		return err
	}
	ref := new(ContentRef)
	err := decoderOf(reflect.TypeFor[ContentRef]())(d, reflect.ValueOf(ref).Elem())
	v.Set(reflect.ValueOf(ToolInput{Ref: ref}))
	return err
}

func decodeSnapshot(d *cursor, v reflect.Value) error {
	if d.null() {
		return nil
	}
	var form snapshotForm
	err := decoderOf(reflect.TypeFor[snapshotForm]())(d, reflect.ValueOf(&form).Elem())
	v.Set(reflect.ValueOf(Snapshot{Resource: form.Resource, FromSeq: form.FromSeq, raw: form.State}))
	return err
}

func decodeLifecycle(d *cursor, v reflect.Value) error {
	if d.null() {
		return nil
	}
	start := d.i
	var form lifecycleForm
	err := decoderOf(reflect.TypeFor[lifecycleForm]())(d, reflect.ValueOf(&form).Elem())
	s := TerminalLifecycleState{Status: form.Status, ExitCode: form.ExitCode}
	if s.Status != TerminalLifecycleStatusRunning && s.Status != TerminalLifecycleStatusExited {
		s.unknown = string(wellFormed(d.b[start:d.i]))
	}
	v.Set(reflect.ValueOf(s))
	return err
}
