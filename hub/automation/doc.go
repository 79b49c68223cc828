// Package automation is the part of automations that needs no host: what a schedule means, whether a definition is in
// order, what a change makes of it, and what is due at a moment. It is pure: the time always comes in.
package automation
