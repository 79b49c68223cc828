// Package changeset records the content of directories and compares two records.
//
// A checkpoint is a git tree in a private repository under the data directory. The user's repository is only read: its
// index is copied for its stat cache, its objects are borrowed as an alternate and then packed over, so that a
// checkpoint outlives a prune of theirs. No ref, no hook, no filter, no file monitor: nothing of
// theirs is run and not a
// byte of theirs changes.
package changeset
