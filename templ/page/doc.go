// Package page draws each page and form from a view model that stands beside its template. It does no I/O: what it
// shows is handed in by handlers/pages, so a page can be tested from a literal.
package page
