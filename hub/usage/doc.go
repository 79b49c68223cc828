// Package usage counts what agents say their turns used: tokens, and cost where they tell it. It keeps a
// row for each day, person, session and agent, written in the step of the action it comes from, and
// stops new turns when a budget is used up.
package usage
