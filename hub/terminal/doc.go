// Package terminal runs programs on pseudo terminals and converts their output to terminal actions.
//
//	pty → chunk (8 ms or 32 KiB) → scanner (sequences) → decoder (meaning) → backlog (bounded) → emit
//
// The scanner never splits a character or an escape sequence across two actions, and removes
// shell-integration sequences from the output (AHP requirement 163). A terminal with a nonce trusts
// only marks that carry it, so that output cannot forge commands.
package terminal
