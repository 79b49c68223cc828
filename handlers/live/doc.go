// Package live keeps open pages current. A page shows rooms; a room follows channels of the hub for one audience and
// draws what changed as patches of elements. Each room has one feed for all viewers: an update is
// drawn and encoded once
// and sent to every reader. The stream of a page (ServeStream) starts from the marks that the page was drawn at, so
// nothing is missed between a page's HTML and its stream.
package live
