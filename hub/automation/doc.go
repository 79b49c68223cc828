// Package automation is the part of automations that needs no host: what a schedule means, whether
// a definition is valid, what a change does to it, and what is due at a given time. It is pure:
// callers pass the time.
package automation
