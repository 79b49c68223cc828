// Package changes is the part of the host that knows what sessions change. It computes changesets with git from what
// files are, never from what an agent says it did: a turn is what changed in its directories while it ran, a
// session what changed since its first checkpoint, uncommitted what differs from the last commit. It runs
// operations on them, keeps review marks, and makes the worktrees that sessions work in.
package changes
