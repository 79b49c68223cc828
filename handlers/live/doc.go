// Package live keeps open pages current. A page shows rooms. A room follows channels of the hub for one
// audience, and renders changes as patches of elements. Each room has one feed for all viewers: an update
// is rendered and encoded once and sent to every reader. The stream of a page (ServeStream) starts from
// the marks that the page was rendered at, so the stream has every change that is not in the page's HTML.
package live
