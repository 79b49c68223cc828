package access

import (
	"maps"
	"slices"
)

// Methods lists the methods in the form MayCall takes.
func Methods() []string { return slices.Sorted(maps.Keys(methodRights)) }

// Actions lists the actions that clients may dispatch, in the form MayAct takes.
func Actions() []string {
	all := slices.Sorted(maps.Keys(actionRights))
	return slices.DeleteFunc(all, func(a string) bool { return actionRights[a] == rightHost })
}
