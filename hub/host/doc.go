// Package host does what an Agent Host Protocol host does: sessions, chats, turns,
// tools, inputs and annotations, on the timeline of package hub.
//
// A client's action goes through rights, loading, the validation table (rules.go)
// and hub.Dispatch. Whatever is accepted, from clients and agents alike, is aggregated
// under the hub's lock (Derive: summary.go, inputneeded.go, queue.go) and may have an
// effect after it (effects.go). Every goroutine belongs to a Host and ends with Run.
package host
