package ahp

import (
	"reflect"
	"sync"
)

// Shape describes the JSON of an object or a union of this package, for code that works on decoded JSON.
type Shape struct {
	Name     string            // of the Go type, same as the schema's definition
	Fields   []ShapeField      // of an object, without its discriminator
	Key      string            // of a union: its discriminator
	Variants map[string]*Shape // of a union, by the value of that field
}

// ShapeField is a field of an object.
type ShapeField struct {
	Name     string
	Optional bool
	Kind     string // in JSON: string, number, integer, boolean, array, object, map, or any for several
	Elem     string // the kind of an array's or a map's elements
	Of       *Shape // of the object, or of the array's or map's elements; nil if they are no objects
}

// Field returns the field of that name.
func (s *Shape) Field(name string) (ShapeField, bool) {
	for _, f := range s.Fields {
		if f.Name == name {
			return f, true
		}
	}
	return ShapeField{}, false
}

var (
	shapesMu sync.Mutex
	shapes   = map[reflect.Type]*Shape{}
)

// ShapeOf returns the shape of a value's type, which is a struct of this package or a pointer to one.
func ShapeOf(v any) *Shape {
	shapesMu.Lock()
	defer shapesMu.Unlock()
	return shapeOf(reflect.TypeOf(v))
}

func shapeOf(t reflect.Type) *Shape {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if s := shapes[t]; s != nil {
		return s
	}
	s := &Shape{Name: t.Name()}
	shapes[t] = s
	if u := unionKinds[t]; u != nil {
		s.Key, s.Variants = u.key, map[string]*Shape{}
		for kind, variant := range u.types {
			s.Variants[kind] = shapeOf(variant)
		}
		return s
	}
	if form, ok := forms[t]; ok {
		t = form
	}
	for _, f := range fieldsOf(t) {
		field := ShapeField{Name: f.name, Optional: f.optional}
		field.Kind, field.Elem, field.Of = kindOfJSON(f.typ)
		s.Fields = append(s.Fields, field)
	}
	return s
}

// forms maps types to the types that they are encoded as.
var forms = map[reflect.Type]reflect.Type{
	reflect.TypeFor[TerminalLifecycleState](): reflect.TypeFor[lifecycleForm](),
	reflect.TypeFor[Snapshot]():               reflect.TypeFor[snapshotForm](),
}

// kindOfJSON returns the JSON kind of a type, the kind of its elements, and the shape of the
// objects in it.
func kindOfJSON(t reflect.Type) (kind, elem string, of *Shape) {
	switch {
	case t == reflect.TypeFor[Text]():
		return "string", "", nil
	case t == reflect.TypeFor[Parts]():
		return "array", "object", shapeOf(reflect.TypeFor[ResponsePart]())
	case t == reflect.TypeFor[ToolInput]():
		return "any", "", shapeOf(reflect.TypeFor[ContentRef]())
	case t == reflect.TypeFor[StringOrMarkdown]() || t == rawType || t == actionType:
		return "any", "", nil
	}
	switch t.Kind() {
	case reflect.Pointer:
		return kindOfJSON(t.Elem())
	case reflect.Slice:
		kind, _, of = kindOfJSON(t.Elem())
		return "array", kind, of
	case reflect.Map:
		kind, inner, of := kindOfJSON(t.Elem())
		if kind == "array" { // a map of lists is walked like one of objects
			kind = "array of " + inner
		}
		return "map", kind, of
	case reflect.Struct:
		return "object", "", shapeOf(t)
	case reflect.String:
		return "string", "", nil
	case reflect.Bool:
		return "boolean", "", nil
	case reflect.Int64, reflect.Int:
		return "integer", "", nil
	case reflect.Float64:
		return "number", "", nil
	}
	return "any", "", nil
}
