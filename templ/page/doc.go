// Package page renders each page and form from a view model defined beside its template. It does no
// I/O: handlers/pages passes in all data, so a page can be tested from a literal.
package page
