// Package files is the part of the host that answers the resource methods. It opens directories to callers (open.go,
// guests.go), keeps what the owner grants (ask.go, grants.go, repository.go), reads, writes and watches files
// (resources.go, write.go, watches.go), and passes on files that clients hold (clients.go).
package files
