package ahp

import (
	"fmt"
	"reflect"
)

func newPointerDecoder(t reflect.Type) decoder {
	elem := t.Elem()
	dec := decoderOf(elem)
	return func(d *cursor, v reflect.Value) error {
		if d.null() {
			v.SetZero()
			return nil
		}
		p := reflect.New(elem)
		v.Set(p)
		return dec(d, p.Elem())
	}
}

func newSliceDecoder(t reflect.Type) decoder {
	elem := t.Elem()
	dec := decoderOf(elem)
	return func(d *cursor, v reflect.Value) error {
		if d.null() {
			v.SetZero()
			return nil
		}
		out := reflect.MakeSlice(t, 0, 0)
		err := d.array(func() error {
			out = growSlice(out)
			item := out.Index(out.Len() - 1)
			if err := dec(d, item); err != nil {
				return err
			}
			if elem.Kind() == reflect.Pointer && item.IsNil() {
				item.Set(reflect.New(elem.Elem())) // null becomes an empty struct, so that callers need not expect nil
			}
			return nil
		})
		v.Set(out)
		return err
	}
}

func growSlice(s reflect.Value) reflect.Value {
	n := s.Len()
	if n == s.Cap() {
		bigger := reflect.MakeSlice(s.Type(), n, max(2*n, 4))
		reflect.Copy(bigger, s)
		s = bigger
	}
	return s.Slice(0, n+1)
}

func newMapDecoder(t reflect.Type) decoder {
	elem := t.Elem()
	dec := decoderOf(elem)
	return func(d *cursor, v reflect.Value) error {
		if d.null() {
			v.SetZero()
			return nil
		}
		out := reflect.MakeMap(t)
		err := d.object(func(key string) error {
			item := reflect.New(elem).Elem()
			err := dec(d, item)
			out.SetMapIndex(reflect.ValueOf(key), item)
			return err
		})
		v.Set(out)
		return err
	}
}

func newStructDecoder(t reflect.Type) decoder {
	fields := fieldsOf(t)
	byName := make(map[string]int, len(fields))
	decs := make([]decoder, len(fields))
	for i, f := range fields {
		byName[f.name] = i
		decs[i] = decoderOf(f.typ)
	}
	return func(d *cursor, v reflect.Value) error {
		if d.null() {
			return nil
		}
		return d.object(func(key string) error {
			i, ok := byName[key]
			if !ok {
				return d.skip()
			}
			if err := decs[i](d, v.FieldByIndex(fields[i].index)); err != nil {
				return fmt.Errorf("%s: %w", key, err)
			}
			return nil
		})
	}
}

// newUnionDecoder decodes into the wrapper's Value.
func newUnionDecoder(u *unionInfo) decoder {
	return func(d *cursor, v reflect.Value) error {
		if d.null() {
			v.SetZero()
			return nil
		}
		kind, ok := d.lookahead(u.key)
		t, known := u.types[kind]
		if !ok || !known {
			raw, err := d.copyRaw()
			if err == nil {
				v.Field(0).Set(reflect.ValueOf(&UnknownVariant{Raw: raw}))
			}
			return err
		}
		p := reflect.New(t)
		v.Field(0).Set(p)
		return decoderOf(t)(d, p.Elem())
	}
}

func decodeAction(d *cursor, v reflect.Value) error {
	if d.null() {
		v.SetZero()
		return nil
	}
	kind, ok := d.lookahead("type")
	if !ok {
		return errNoType
	}
	info, known := Info(kind)
	if !known {
		raw, err := d.copyRaw()
		if err == nil {
			v.Set(reflect.ValueOf(&UnknownAction{Type: kind, Raw: raw}))
		}
		return err
	}
	p := reflect.ValueOf(info.New())
	v.Set(p)
	if err := decoderOf(p.Type().Elem())(d, p.Elem()); err != nil {
		return fmt.Errorf("%s: %w", kind, err)
	}
	return nil
}
