// Package spec is the protocol as its schemas have it, for tests and generators: every object, union, enum, action and
// state of a version, and a validator. It knows no type of hub/ahp, so that it can be held against them.
//
// The published schemas lie beside the repository, in shared/ahp/schema. 1.0 and the releases after the last published
// one are made from it and delta-1.0.txt; 0.5.0 and 0.5.1 are made from 0.5.2 and the table in hub/ahp/release.
// The known mistakes of the published schemas are mended on the way (see repair.go).
package spec
