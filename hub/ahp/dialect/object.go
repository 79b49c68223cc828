package dialect

import (
	"bytes"
	"encoding/json"
)

// object is a JSON object. The helpers below treat values of unexpected types as absent, because
// what an old client sends is not checked yet.
type object = map[string]any

func text(o object, key string) string {
	s, _ := o[key].(string)
	return s
}

func child(o object, key string) object {
	c, _ := o[key].(object)
	return c
}

func list(o object, key string) []any {
	l, _ := o[key].([]any)
	return l
}

// rename moves a field, if it is there.
func rename(o object, from, to string) {
	if v, ok := o[from]; ok {
		delete(o, from)
		o[to] = v
	}
}

// unwrapFirst replaces a list by its first element under another name.
func unwrapFirst(o object, from, to string) {
	if l := list(o, from); len(l) > 0 {
		o[to] = l[0]
	}
	delete(o, from)
}

// wrapInList replaces a value by a list of it under another name.
func wrapInList(o object, from, to string) {
	if v, ok := o[from]; ok {
		if v != nil && o[to] == nil {
			o[to] = []any{v}
		}
		delete(o, from)
	}
}

// decode reads JSON and keeps numbers as they were written.
func decode(b []byte) (any, error) {
	d := json.NewDecoder(bytes.NewReader(b))
	d.UseNumber()
	var v any
	err := d.Decode(&v)
	return v, err
}

func encode(v any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	err := e.Encode(v)
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), err
}
