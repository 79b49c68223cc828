// Package organize keeps how people organize sessions: what each pinned and which filters they saved, and the labels that
// all of them see.
package organize
