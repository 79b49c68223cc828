// Package terminal runs programs on pseudo terminals and turns what they write
// into terminal actions.
//
//	pty → chunk (8 ms or 32 KiB) → scanner (sequences) → decoder (meaning) → backlog (bounded) → emit
//
// The scanner never cuts a character or an escape sequence across two actions,
// and takes shell-integration sequences out of the output (AHP requirement
// 163). A terminal that has a nonce believes only marks that carry it, so that
// output cannot forge commands.
package terminal
