// Package spec is the protocol as its schemas have it, for tests and generators: every object, union, enum, action and
// state of a version, and a validator. It knows nothing of hub/ahp, so that it can be held against it.
//
// The published schemas lie beside the repository, in shared/ahp/schema. 1.0 and the releases after the last published
// one are made from it and delta-1.0.txt; what no schema was published for in 0.5 is made from 0.5.2 and releases.txt.
// The known mistakes of the published schemas are mended on the way (see repair.go).
package spec
