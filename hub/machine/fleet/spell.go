package fleet

import (
	"encoding/json"
	"reflect"
	"strings"

	"github.com/ahphub/ahphub/hub/ahp"
	"github.com/ahphub/ahphub/hub/machine/place"
)

// uriFields are the protocol's fields, by name on the wire, whose URIs may name files.
var uriFields = map[string]bool{"uri": true, "resource": true, "src": true, "url": true, "directory": true, "cwd": true,
	"workingDirectory": true, "workingDirectories": true, "defaultDirectory": true, "source": true, "destination": true,
	"replacement": true, "root": true}

// spelling converts how files are spelled for another computer.
type spelling struct {
	uri  func(ahp.URI) ahp.URI
	path func(string) string
}

// respell returns a protocol value with all file URIs converted. It does not modify v; unchanged parts are shared.
// Texts and the input of tools are the agent's own, and stay unchanged.
func respell[T any](s spelling, v T) T {
	p := reflect.ValueOf(&v).Elem()
	if out, changed := s.walk(p, ""); changed {
		p.Set(out)
	}
	return v
}

var (
	rawType  = reflect.TypeFor[json.RawMessage]()
	metaType = reflect.TypeFor[ahp.Meta]()
)

// walk returns v with its URIs converted, or false if there are none. name is the field that contains v.
func (s spelling) walk(v reflect.Value, name string) (reflect.Value, bool) {
	switch v.Kind() {
	case reflect.String:
		return s.walkString(v, name)
	case reflect.Pointer, reflect.Interface:
		if v.IsNil() {
			return v, false
		}
		in, changed := s.walk(v.Elem(), name)
		if !changed || v.Kind() == reflect.Interface {
			return in, changed
		}
		out := reflect.New(v.Type().Elem())
		out.Elem().Set(in)
		return out, true
	case reflect.Struct:
		return s.walkStruct(v)
	case reflect.Slice:
		return s.walkSlice(v, name)
	case reflect.Map:
		return s.walkMap(v, name)
	}
	return v, false
}

func (s spelling) walkString(v reflect.Value, name string) (reflect.Value, bool) {
	uri := v.String()
	if !uriFields[name] || len(uri) < len("file:") || !strings.EqualFold(uri[:len("file:")], "file:") {
		return v, false
	}
	out := reflect.New(v.Type()).Elem()
	out.SetString(s.uri(uri))
	return out, true
}

func (s spelling) walkStruct(v reflect.Value) (reflect.Value, bool) {
	t, out := v.Type(), reflect.Value{}
	for i := range t.NumField() {
		field := t.Field(i)
		if !field.IsExported() {
			continue
		}
		name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		in, changed := s.walk(v.Field(i), name)
		if !changed {
			continue
		}
		if !out.IsValid() {
			out = reflect.New(t).Elem()
			out.Set(v)
		}
		out.Field(i).Set(in)
	}
	return out, out.IsValid()
}

func (s spelling) walkSlice(v reflect.Value, name string) (reflect.Value, bool) {
	if v.Type().Elem().Kind() == reflect.Uint8 {
		return v, false
	}
	out := reflect.Value{}
	for i := range v.Len() {
		in, changed := s.walk(v.Index(i), name)
		if !changed {
			continue
		}
		if !out.IsValid() {
			out = reflect.MakeSlice(v.Type(), v.Len(), v.Len())
			reflect.Copy(out, v)
		}
		out.Index(i).Set(in)
	}
	return out, out.IsValid()
}

func (s spelling) walkMap(v reflect.Value, name string) (reflect.Value, bool) {
	if name == "_meta" && v.Type() == metaType {
		return s.walkMeta(v)
	}
	if v.Type().Elem() == rawType {
		return v, false
	}
	out := reflect.Value{}
	for at := v.MapRange(); at.Next(); {
		in, changed := s.walk(at.Value(), name)
		if !changed {
			continue
		}
		if !out.IsValid() {
			out = reflect.MakeMapWithSize(v.Type(), v.Len())
			for from := v.MapRange(); from.Next(); {
				out.SetMapIndex(from.Key(), from.Value())
			}
		}
		out.SetMapIndex(at.Key(), in)
	}
	return out, out.IsValid()
}

// walkMeta converts the directory of a command, as in agent.DirectoryMeta.
func (s spelling) walkMeta(v reflect.Value) (reflect.Value, bool) {
	const key = "ahphub"
	meta := v.Interface().(ahp.Meta)
	var said map[string]json.RawMessage
	var dir string
	if meta[key] == nil || json.Unmarshal(meta[key], &said) != nil || said["directory"] == nil ||
		json.Unmarshal(said["directory"], &dir) != nil {
		return v, false
	}
	var err error
	if said["directory"], err = json.Marshal(s.path(dir)); err != nil {
		return v, false
	}
	raw, err := json.Marshal(said)
	if err != nil {
		return v, false
	}
	out := make(ahp.Meta, len(meta))
	for k, value := range meta {
		out[k] = value
	}
	out[key] = raw
	return reflect.ValueOf(out), true
}

// elsewhere replaces the URI of a file that is unreachable for the reader, on another computer.
const elsewhere ahp.URI = "about:blank"

// hubward converts a computer's spelling of its files into the hub's.
func hubward(id string) spelling {
	return spelling{
		uri: func(uri ahp.URI) ahp.URI {
			joined, err := place.JoinURI(id, uri)
			if err != nil {
				return elsewhere
			}
			return joined
		},
		path: func(p string) string {
			joined, err := place.JoinPath(id, p)
			if err != nil {
				return ""
			}
			return joined
		},
	}
}

// outward converts the hub's spelling of files into the computer's, and hides files of other computers.
func outward(id string) spelling {
	return spelling{
		uri: func(uri ahp.URI) ahp.URI {
			on, there, err := place.SplitURI(uri)
			if err != nil || on != id {
				return elsewhere
			}
			return there
		},
		path: func(p string) string {
			on, there, err := place.SplitPath(p)
			if err != nil || on != id {
				return ""
			}
			return there
		},
	}
}
