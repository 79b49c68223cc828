// Package changes is the part of the host for sessions' changes. It computes changesets with git
// from the files on disk, never from agents' reports: of a turn, the changes in its directories
// while it ran; of a session, the changes since its first checkpoint; and uncommitted changes. It
// also runs operations on them and keeps review marks.
package changes
