package oracle

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/big"
)

// Decode decodes a JSON object without changing its numbers.
func Decode(b []byte) (map[string]any, error) {
	d := json.NewDecoder(bytes.NewReader(b))
	d.UseNumber()
	var o object
	if err := d.Decode(&o); err != nil {
		return nil, fmt.Errorf("oracle: %w", err)
	}
	return o, nil
}

// Canonical encodes a value so that equal values have equal texts: sorted keys, 1.50 and 15e-1 as
// one number.
func Canonical(v any) string {
	b, err := json.Marshal(canonical(v))
	if err != nil {
		return fmt.Sprintf("%v", v)
	}
	return string(b)
}

func canonical(v any) any {
	switch v := v.(type) {
	case object:
		out := object{}
		for k, e := range v {
			out[k] = canonical(e)
		}
		return out
	case list:
		out := make(list, len(v))
		for i, e := range v {
			out[i] = canonical(e)
		}
		return out
	case json.Number:
		return canonicalNumber(v)
	}
	return v
}

func canonicalNumber(n json.Number) any {
	r, ok := new(big.Rat).SetString(n.String())
	switch {
	case !ok:
		return n
	case r.IsInt():
		return json.Number(r.Num().String())
	}
	f, _ := r.Float64()
	return f
}

// WithoutNulls returns a value without null properties: some documents encode absent properties as
// null.
func WithoutNulls(v any) any {
	switch v := v.(type) {
	case object:
		out := object{}
		for k, e := range v {
			if e != nil {
				out[k] = WithoutNulls(e)
			}
		}
		return out
	case list:
		out := make(list, len(v))
		for i, e := range v {
			out[i] = WithoutNulls(e)
		}
		return out
	}
	return v
}
