// Package e2e starts the real program and uses it as people and clients do.
//
// Its subpackages are a client that mirrors its subscriptions (peer), a check of every frame
// against the published schemas (wire), generated inputs (fixture), hostile texts (hostile),
// benchmarks (bench, bench_ui), and the program that writes docs/support.md (support).
package e2e
