// Package files is the part of the host for the resource methods. It opens directories to callers
// (open.go, guests.go), keeps the owner's grants (ask.go, grants.go, repository.go), reads, writes
// and watches files (resources.go, write.go, watches.go), and forwards requests for clients' files
// (clients.go).
package files
