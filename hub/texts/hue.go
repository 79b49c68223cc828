package texts

import "hash/fnv"

// Hues is the number of colours for people.
const Hues = 8

// Hue returns the number of a person's colour, which is the same in every session.
func Hue(id string) int {
	h := fnv.New32a()
	_, _ = h.Write([]byte(id))
	return int(h.Sum32() % Hues)
}
