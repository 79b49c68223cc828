// Package web is the HTTP server: all routes on one screen (routes.go), authentication
// (identify.go), and the handling common to all answers (middleware.go, headers.go). Pages and the
// protocol's endpoint are passed in.
package web
