// Package threads is the part of the host for what people say about changes. It checks who writes and resolves threads
// (threads.go) and moves them along with their lines (follow.go), applies suggestions (suggestions.go), and keeps each
// session's review: verdicts (verdicts.go), mentions and visitors (review.go).
package threads
