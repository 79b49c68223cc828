//go:build !unix

package resource

const nonBlocking = 0
