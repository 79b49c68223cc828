// Package automations is the part of the host that keeps the catalogue of automations, starts their runs by the
// clock or on request, and follows each run to its end. hub/automation, which is pure, decides what is due.
package automations
