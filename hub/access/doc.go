// Package access says who may do what: principals, roles, the one table of rights for
// actions, methods and routes, what an audience may see, links and tokens.
//
// Whatever is not in a table is refused. Pages and the protocol ask the same tables.
package access
