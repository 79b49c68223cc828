// Package automations is the part of the host that keeps the catalogue of automations, starts their
// runs by schedule or on request, and follows each run to its end. The pure package hub/automation
// decides what is due.
package automations
