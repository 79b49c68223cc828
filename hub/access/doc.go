// Package access decides which principal may do what. It holds principals, roles, the one table of
// rights for actions, methods and routes, audiences, links and tokens.
//
// Whatever is not in a table is refused. Pages and the protocol use the same tables.
package access
