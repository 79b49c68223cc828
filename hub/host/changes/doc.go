// Package changes is the part of the host that knows what sessions change. It computes changesets with git from the
// files on disk, never from what an agent reports: a turn's changeset is what changed in its directories while it ran,
// a session's what changed since its first checkpoint, and the uncommitted one what differs from the last commit. It
// runs operations on them and keeps review marks.
package changes
