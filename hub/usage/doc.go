// Package usage counts the usage that agents report for turns: tokens, and cost if they report it.
// It keeps a row per day, person, session and agent, written in the step of the reporting action,
// and stops new turns when a budget is used up.
package usage
