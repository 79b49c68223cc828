// Package organize keeps how people organize sessions: each person's pins and saved filters, and
// the labels that everyone sees.
package organize
