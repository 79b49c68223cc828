// Package worktrees keeps what sessions have checked out: the branch of a session's first directory, and the git
// worktree of a session that has one of its own.
package worktrees
