// Package changeset records the content of directories and compares two records.
//
// A checkpoint is a git tree in a private repository under the data directory. The user's
// repository is only read: its index is copied for its stat cache, and its objects are borrowed as
// an alternate and later packed, so that a checkpoint survives a prune there. No ref changes, and
// no hook, filter or file monitor of the user runs.
package changeset
