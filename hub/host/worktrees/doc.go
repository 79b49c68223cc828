// Package worktrees manages sessions' checkouts: the branch of a session's first directory, and the
// git worktree of a session that has its own.
package worktrees
