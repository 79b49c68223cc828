// Package threads is the part of the host for comments on changes. It checks who may write and
// resolve threads (threads.go), moves threads with their lines (follow.go), applies suggestions
// (suggestions.go), and keeps each session's review: verdicts (verdicts.go), mentions and visitors
// (review.go).
package threads
