// Package e2e starts the real program and drives it as people and clients do. Its
// subpackages are a mirroring client, generated inputs and benchmarks.
package e2e
