// Package e2e starts the real program and drives it as people and clients do.
//
// Beside the tests lie a client that mirrors what it subscribes to (peer), a check of every frame against the published
// schemas (wire), generated inputs (fixture), hostile texts (hostile), benchmarks (bench, bench_ui), and the
// program that writes docs/support.md (support).
package e2e
