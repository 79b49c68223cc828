// Package web is the HTTP server: every route on one screen (routes.go), who is asking
// (identify.go), and what every answer goes through (middleware.go, headers.go). Pages and
// the protocol's endpoint are handed in.
package web
