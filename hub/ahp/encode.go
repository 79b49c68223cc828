package ahp

import (
	"encoding/json"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync"
)

// Marshal writes v, any value of this package or made of such values, in its wire form: required lists are never null,
// variants and actions carry their discriminator first, absent optional fields are left out, map keys are sorted.
// It makes one pass; encoding/json would check and copy the output once more at every nested union.
func Marshal(v any) ([]byte, error) { return AppendJSON(nil, v) }

// AppendJSON appends the wire form of v to b.
func AppendJSON(b []byte, v any) ([]byte, error) {
	rv := reflect.ValueOf(v)
	if !rv.IsValid() {
		return append(b, "null"...), nil
	}
	return encoderOf(rv.Type())(b, rv)
}

type encoder func(b []byte, v reflect.Value) ([]byte, error)

var encoders sync.Map // reflect.Type → encoder

func encoderOf(t reflect.Type) encoder {
	if e, ok := encoders.Load(t); ok {
		return e.(encoder)
	}
	// A recursive type uses this placeholder while its encoder is being made.
	var ready sync.WaitGroup
	var made encoder
	ready.Add(1)
	standIn := encoder(func(b []byte, v reflect.Value) ([]byte, error) {
		ready.Wait()
		return made(b, v)
	})
	if e, loaded := encoders.LoadOrStore(t, standIn); loaded {
		return e.(encoder)
	}
	made = newEncoder(t)
	ready.Done()
	encoders.Store(t, made)
	return made
}

var (
	rawType    = reflect.TypeFor[json.RawMessage]()
	actionType = reflect.TypeFor[Action]()
)

// ownEncoders has the types with custom encoders. It is filled in init, as its entries encode
// further values.
var ownEncoders map[reflect.Type]encoder

func init() {
	ownEncoders = map[reflect.Type]encoder{
		rawType: encodeRaw,
		reflect.TypeFor[Text](): func(b []byte, v reflect.Value) ([]byte, error) {
			t := v.Interface().(Text)
			return appendString(b, t.String()), nil
		},
		reflect.TypeFor[Parts](): encodeParts,
		reflect.TypeFor[StringOrMarkdown](): func(b []byte, v reflect.Value) ([]byte, error) {
			s := v.Interface().(StringOrMarkdown)
			if !s.Markdown {
				return appendString(b, s.Text), nil
			}
			b = append(b, `{"markdown":`...)
			return append(appendString(b, s.Text), '}'), nil
		},
		reflect.TypeFor[ToolInput](): func(b []byte, v reflect.Value) ([]byte, error) {
			t := v.Interface().(ToolInput)
			if t.Ref == nil {
				return appendString(b, t.Text), nil
			}
			return AppendJSON(b, *t.Ref)
		},
		reflect.TypeFor[Snapshot](): encodeSnapshot,
		reflect.TypeFor[TerminalLifecycleState](): func(b []byte, v reflect.Value) ([]byte, error) {
			s := v.Interface().(TerminalLifecycleState)
			if s.unknown != "" && s.Status != TerminalLifecycleStatusRunning &&
				s.Status != TerminalLifecycleStatusExited {
				return append(b, wellFormed([]byte(s.unknown))...), nil
			}
			return AppendJSON(b, lifecycleForm{s.Status, s.ExitCode})
		},
		reflect.TypeFor[UnknownVariant](): func(b []byte, v reflect.Value) ([]byte, error) {
			return encodeRaw(b, v.Field(0))
		},
		reflect.TypeFor[UnknownAction](): func(b []byte, v reflect.Value) ([]byte, error) {
			return encodeRaw(b, v.Field(1))
		},
	}
}

func encodeParts(b []byte, v reflect.Value) ([]byte, error) {
	elem := encoderOf(reflect.TypeFor[ResponsePart]())
	b = append(b, '[')
	var err error
	for i, part := range v.Interface().(Parts).All() {
		if i > 0 {
			b = append(b, ',')
		}
		if b, err = elem(b, reflect.ValueOf(part)); err != nil {
			return b, err
		}
	}
	return append(b, ']'), nil
}

func encodeSnapshot(b []byte, v reflect.Value) ([]byte, error) {
	s := v.Interface().(Snapshot)
	b = appendString(append(b, `{"resource":`...), s.Resource)
	b = append(b, `,"state":`...)
	var err error
	if s.State != nil {
		b, err = AppendJSON(b, s.State)
	} else {
		b = append(b, rawOrNull(s.raw)...)
	}
	b = strconv.AppendInt(append(b, `,"fromSeq":`...), s.FromSeq, 10)
	return append(b, '}'), err
}

func newEncoder(t reflect.Type) encoder {
	if e, ok := ownEncoders[t]; ok {
		return e
	}
	if _, ok := unionKinds[t]; ok {
		return func(b []byte, v reflect.Value) ([]byte, error) { return encodeDynamic(b, v.Field(0)) }
	}
	switch t.Kind() {
	case reflect.String:
		return func(b []byte, v reflect.Value) ([]byte, error) { return appendString(b, v.String()), nil }
	case reflect.Bool:
		return func(b []byte, v reflect.Value) ([]byte, error) { return strconv.AppendBool(b, v.Bool()), nil }
	case reflect.Int, reflect.Int64:
		return func(b []byte, v reflect.Value) ([]byte, error) { return strconv.AppendInt(b, v.Int(), 10), nil }
	case reflect.Float64:
		return encodeFloat
	case reflect.Interface:
		return encodeDynamic
	case reflect.Pointer:
		return newPointerEncoder(t)
	case reflect.Slice:
		return newSliceEncoder(t)
	case reflect.Map:
		return newMapEncoder(t)
	case reflect.Struct:
		return newStructEncoder(t)
	}
	return func(b []byte, _ reflect.Value) ([]byte, error) { return b, fmt.Errorf("ahp: cannot encode %s", t) }
}

// encodeDynamic encodes the value in an interface; values from other packages encode themselves.
func encodeDynamic(b []byte, v reflect.Value) ([]byte, error) {
	if v.IsNil() {
		return append(b, "null"...), nil
	}
	e := v.Elem()
	if p := e.Type(); p.PkgPath() == "" && p.Kind() != reflect.Pointer || foreign(p) {
		raw, err := json.Marshal(e.Interface())
		return append(b, wellFormed(raw)...), err
	}
	return encoderOf(e.Type())(b, e)
}

var pkgPath = reflect.TypeFor[Text]().PkgPath()

func foreign(t reflect.Type) bool {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	return t.PkgPath() != pkgPath
}

func encodeRaw(b []byte, v reflect.Value) ([]byte, error) {
	raw := v.Bytes()
	if len(raw) == 0 {
		return append(b, "null"...), nil
	}
	if !json.Valid(raw) {
		return b, fmt.Errorf("ahp: a raw value is not JSON: %.60q", raw)
	}
	return append(b, wellFormed(raw)...), nil
}

func encodeFloat(b []byte, v reflect.Value) ([]byte, error) {
	f := v.Float()
	if math.IsNaN(f) || math.IsInf(f, 0) {
		return b, fmt.Errorf("ahp: %v has no JSON form", f)
	}
	if f == math.Trunc(f) && math.Abs(f) < 1<<53 {
		return strconv.AppendInt(b, int64(f), 10), nil
	}
	return strconv.AppendFloat(b, f, 'g', -1, 64), nil
}

func newPointerEncoder(t reflect.Type) encoder {
	elem := encoderOf(t.Elem())
	return func(b []byte, v reflect.Value) ([]byte, error) {
		if v.IsNil() {
			return append(b, "null"...), nil
		}
		return elem(b, v.Elem())
	}
}

func newSliceEncoder(t reflect.Type) encoder {
	elem := encoderOf(t.Elem())
	return func(b []byte, v reflect.Value) ([]byte, error) {
		b = append(b, '[')
		var err error
		for i := range v.Len() {
			if i > 0 {
				b = append(b, ',')
			}
			if b, err = elem(b, v.Index(i)); err != nil {
				return b, err
			}
		}
		return append(b, ']'), nil
	}
}

func newMapEncoder(t reflect.Type) encoder {
	elem := encoderOf(t.Elem())
	return func(b []byte, v reflect.Value) ([]byte, error) {
		keys := v.MapKeys()
		slices.SortFunc(keys, func(a, b reflect.Value) int { return strings.Compare(a.String(), b.String()) })
		b = append(b, '{')
		var err error
		for i, k := range keys {
			if i > 0 {
				b = append(b, ',')
			}
			b = append(appendString(b, k.String()), ':')
			if b, err = elem(b, v.MapIndex(k)); err != nil {
				return b, err
			}
		}
		return append(b, '}'), nil
	}
}

func newStructEncoder(t reflect.Type) encoder {
	head := "{"
	if a, ok := reflect.New(t).Interface().(Action); ok {
		head += `"type":` + strconv.Quote(a.ActionType())
	} else {
		head += discriminators[t]
	}
	fields := fieldsOf(t)
	encs := make([]encoder, len(fields))
	for i, f := range fields {
		encs[i] = encoderOf(f.typ)
	}
	return func(b []byte, v reflect.Value) ([]byte, error) {
		b = append(b, head...)
		first := len(head) == 1
		var err error
		for i := range fields {
			f := &fields[i]
			fv := v.FieldByIndex(f.index)
			if f.optional && isAbsent(fv) {
				continue
			}
			if !first {
				b = append(b, ',')
			}
			first = false
			b = append(b, f.prefix...)
			if b, err = encs[i](b, fv); err != nil {
				return b, fmt.Errorf("%s: %w", f.name, err)
			}
		}
		return append(b, '}'), nil
	}
}

// isAbsent reports whether an optional field is left out: nil, the empty string, zero text.
func isAbsent(v reflect.Value) bool {
	switch v.Kind() {
	case reflect.String:
		return v.Len() == 0
	case reflect.Pointer, reflect.Slice, reflect.Map, reflect.Interface:
		return v.IsNil()
	}
	return v.IsZero()
}
