// Package spec is the protocol as defined by its schemas, for tests and generators: every object,
// union, enum, action and state of a version, and a validator. It imports no types of hub/ahp, so
// that these can be checked against it.
//
// The published schemas are next to the repository, in shared/ahp/schema. 1.0 and the releases
// after the last published one are derived from it and delta-1.0.txt; 0.5.0 and 0.5.1 from 0.5.2
// and the table in hub/ahp/release. Known mistakes in the published schemas are corrected (see
// repair.go).
package spec
