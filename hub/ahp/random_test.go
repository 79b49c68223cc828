package ahp

import (
	"encoding/json"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
)

// randomizer fills values of the protocol from a small vocabulary, so that random actions often
// apply to random states.
type randomizer struct{ *rand.Rand }

func newRandomizer(seed uint64) randomizer { return randomizer{rand.New(rand.NewPCG(seed, 1))} }

func (r randomizer) state(kind ChannelKind) State {
	s := NewState(kind)
	r.fill(reflect.ValueOf(s).Elem(), "", 0)
	if c, ok := s.(*ChatState); ok && c.ActiveTurn != nil {
		c.ActiveTurn.ID = "a"
	}
	return s
}

func (r randomizer) action(info ActionInfo) Action {
	a := info.New()
	r.fill(reflect.ValueOf(a).Elem(), "", 0)
	return a
}

// actions returns random actions of one channel; an action often has the type of the previous one.
func (r randomizer) actions(kind ChannelKind, n int) []Action {
	var of []ActionInfo
	for _, i := range Actions() {
		if i.Channel == kind {
			of = append(of, i)
		}
	}
	out := make([]Action, n)
	pick := of[r.IntN(len(of))]
	for i := range out {
		if r.IntN(2) == 0 {
			pick = of[r.IntN(len(of))]
		}
		out[i] = r.action(pick)
	}
	return out
}

func (r randomizer) fill(v reflect.Value, name string, depth int) {
	t := v.Type()
	if u, ok := unionKinds[t]; ok {
		r.fillUnion(v, u, depth)
		return
	}
	switch t {
	case rawType:
		v.SetBytes([]byte([]string{`1`, `"x"`, `{"deep":[12345678901234567890]}`}[r.IntN(3)]))
		return
	case reflect.TypeFor[Text]():
		v.Set(reflect.ValueOf(NewText(r.word("Content"))))
		return
	case reflect.TypeFor[Parts]():
		var parts []ResponsePart
		r.fillSlice(reflect.ValueOf(&parts).Elem(), name, depth)
		v.Set(reflect.ValueOf(NewParts(parts...)))
		return
	case reflect.TypeFor[StringOrMarkdown]():
		v.Set(reflect.ValueOf(StringOrMarkdown{r.word(""), r.IntN(2) == 0}))
		return
	case reflect.TypeFor[ToolInput]():
		if v.Set(reflect.ValueOf(ToolInput{Text: r.word("")})); r.IntN(3) == 0 {
			v.Set(reflect.ValueOf(ToolInput{Ref: &ContentRef{URI: "x:1"}}))
		}
		return
	}
	r.fillKind(v, name, depth)
}

func (r randomizer) fillUnion(v reflect.Value, u *unionInfo, depth int) {
	if r.IntN(8) == 0 {
		v.Field(0).Set(reflect.ValueOf(&UnknownVariant{json.RawMessage(`{"` + u.key + `":"new","id":"a"}`)}))
		return
	}
	var names []string
	for n := range u.types {
		names = append(names, n)
	}
	slices.Sort(names)
	kind := names[r.IntN(len(names))]
	p := reflect.New(u.types[kind])
	r.fill(p.Elem(), "", depth+1)
	for _, f := range []string{"Kind", "State"} { // a variant for two kinds has a field for the kind
		if e := p.Elem().FieldByName(f); discriminators[u.types[kind]] == "" && e.IsValid() {
			e.SetString(kind)
		}
	}
	v.Field(0).Set(p)
}

func (r randomizer) fillKind(v reflect.Value, name string, depth int) {
	switch v.Kind() {
	case reflect.String:
		v.SetString(r.word(name))
	case reflect.Bool:
		v.SetBool(r.IntN(2) == 0)
	case reflect.Int64:
		v.SetInt(r.Int64N(100) - 5)
	case reflect.Float64:
		v.SetFloat(float64(r.IntN(20)) / 4)
	case reflect.Pointer:
		if r.IntN(2) == 0 && depth < 6 {
			v.Set(reflect.New(v.Type().Elem()))
			r.fill(v.Elem(), name, depth+1)
		}
	case reflect.Slice:
		r.fillSlice(v, name, depth)
	case reflect.Map:
		if r.IntN(2) == 0 || depth > 5 {
			return
		}
		v.Set(reflect.MakeMap(v.Type()))
		for range r.IntN(3) {
			e := reflect.New(v.Type().Elem()).Elem()
			r.fill(e, "", depth+1)
			v.SetMapIndex(reflect.ValueOf(r.word("ID")), e)
		}
	case reflect.Struct:
		for i := range v.NumField() {
			if f := v.Type().Field(i); f.IsExported() {
				r.fill(v.Field(i), f.Name, depth+1)
			}
		}
	}
}

func (r randomizer) fillSlice(v reflect.Value, name string, depth int) {
	if r.IntN(4) == 0 || depth > 5 {
		return
	}
	n := r.IntN(4)
	out := reflect.MakeSlice(v.Type(), n, n)
	for i := range n {
		if e := out.Index(i); e.Kind() == reflect.Pointer {
			e.Set(reflect.New(e.Type().Elem()))
			r.fill(e.Elem(), name, depth+1)
		} else {
			r.fill(e, name, depth+1)
		}
	}
	v.Set(out)
}

// word returns an identifier of three, a time, or a short text.
func (r randomizer) word(name string) string {
	if strings.HasSuffix(name, "At") {
		return []string{"2026-10-02T10:00:00.000Z", "2026-10-02T10:00:00-05:00", "soon"}[r.IntN(3)]
	}
	if name == "TurnID" {
		return []string{"a", "a", "b"}[r.IntN(3)]
	}
	if strings.HasSuffix(name, "Content") || name == "Data" {
		return []string{"", "é", "\"\\\n\u2028", "text "}[r.IntN(4)]
	}
	if name == "Kind" {
		return []string{"steering", "queued"}[r.IntN(2)]
	}
	return []string{"a", "b", "c"}[r.IntN(3)]
}
