package ahp

import "reflect"

// Reduce applies an action to a state. It is pure: the same inputs give the same result on host and
// client, no clock and no randomness (AHP requirement 40). It returns the same pointer when the
// action changes nothing, as does an unknown action, an action of another channel, or one that
// names a missing item.
func Reduce(s State, a Action) State {
	if s == nil || a == nil {
		return s
	}
	info, ok := infos[a.ActionType()]
	if !ok {
		return s
	}
	return info.reduce(s, a)
}

// edit returns a copy of s changed by f.
func edit[T any](s *T, f func(*T)) *T {
	c := *s
	f(&c)
	return &c
}

// set returns a copy of s with a field changed, or s itself if the field has that value already.
func set[T any, V comparable](s *T, field func(*T) *V, v V) *T {
	if *field(s) == v {
		return s
	}
	return edit(s, func(c *T) { *field(c) = v })
}

// setDeep is set for values that are compared deeply.
func setDeep[T, V any](s *T, field func(*T) *V, v V) *T {
	if reflect.DeepEqual(*field(s), v) {
		return s
	}
	return edit(s, func(c *T) { *field(c) = v })
}

func with[T any](list []T, v T) []T {
	out := make([]T, len(list), len(list)+1)
	copy(out, list)
	return append(out, v)
}

func replaced[T any](list []T, i int, v T) []T {
	out := make([]T, len(list))
	copy(out, list)
	out[i] = v
	return out
}

func without[T any](list []T, i int) []T {
	out := make([]T, 0, len(list)-1)
	return append(append(out, list[:i]...), list[i+1:]...)
}

// upserted replaces the element match finds, or appends v, and reports whether that changes list.
func upserted[T any](list []T, match func(*T) bool, v T) ([]T, bool) {
	i := indexOf(list, match)
	if i < 0 {
		return with(list, v), true
	}
	if reflect.DeepEqual(list[i], v) {
		return list, false
	}
	return replaced(list, i, v), true
}

func indexOf[T any](list []T, match func(*T) bool) int {
	for i := range list {
		if match(&list[i]) {
			return i
		}
	}
	return -1
}

// mergedValues returns values overwritten with changes, or only changes when replace is set.
func mergedValues(values, changes Meta, replace *bool) Meta {
	out := make(Meta, len(values)+len(changes))
	if replace == nil || !*replace {
		for k, v := range values {
			out[k] = v
		}
	}
	for k, v := range changes {
		out[k] = v
	}
	return out
}

// withDirectory adds a directory to a set.
func withDirectory(dirs []URI, dir URI) ([]URI, bool) {
	if indexOf(dirs, func(d *URI) bool { return *d == dir }) >= 0 {
		return dirs, false
	}
	return with(dirs, dir), true
}

// withoutDirectory removes a directory from a set.
func withoutDirectory(dirs []URI, dir URI) ([]URI, bool) {
	i := indexOf(dirs, func(d *URI) bool { return *d == dir })
	if i < 0 {
		return dirs, false
	}
	return without(dirs, i), true
}
