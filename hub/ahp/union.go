package ahp

import (
	"reflect"
	"strconv"
)

// unionInfo describes a union to the codec: its discriminator and its variants.
type unionInfo struct {
	key   string
	types map[string]reflect.Type // by the discriminator's value; struct types, not pointers
}

func newUnion[V any](key string, variants map[string]V) *unionInfo {
	u := &unionInfo{key: key, types: make(map[string]reflect.Type, len(variants))}
	for name, v := range variants {
		u.types[name] = reflect.TypeOf(v).Elem()
	}
	return u
}

// discriminators maps each variant to the key and value in front of its fields. A variant for two
// values (a number question may be an integer's) has a field for it instead and is absent here. A
// client's plugin is in no union, but the protocol gives it the type of a plugin.
var discriminators = func() map[reflect.Type]string {
	tags := map[reflect.Type]string{reflect.TypeFor[ClientPluginCustomization](): `"type":"plugin"`}
	count := map[reflect.Type]int{}
	for _, u := range unionKinds {
		seen := map[reflect.Type]int{}
		for name, t := range u.types {
			tags[t] = strconv.Quote(u.key) + ":" + strconv.Quote(name)
			seen[t]++
		}
		for t, n := range seen {
			count[t] = max(count[t], n)
		}
	}
	for t, n := range count {
		if n > 1 {
			delete(tags, t)
		}
	}
	return tags
}()
