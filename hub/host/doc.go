// Package host implements an Agent Host Protocol host: sessions, chats, turns, tools, inputs and
// annotations, on the timeline of package hub.
//
// A client's action goes through rights, loading, the validation table (rules.go) and hub.Dispatch.
// Accepted actions of clients and agents are aggregated under the hub's lock (Derive: summary.go,
// inputneeded.go, queue.go) and may then have an effect (effects.go). Every goroutine belongs to a
// Host and ends with Run.
package host
