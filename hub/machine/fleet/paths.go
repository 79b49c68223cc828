package fleet

import (
	"github.com/ahphub/ahphub/hub/ahp"
	"github.com/ahphub/ahphub/hub/machine/place"
)

// SplitPath is place.SplitPath.
func SplitPath(p string) (id, there string, err error) { return place.SplitPath(p) }

// JoinPath is place.JoinPath.
func JoinPath(id, there string) (string, error) { return place.JoinPath(id, there) }

// SplitURI is place.SplitURI.
func SplitURI(uri ahp.URI) (id string, there ahp.URI, err error) { return place.SplitURI(uri) }

// JoinURI is place.JoinURI.
func JoinURI(id string, there ahp.URI) (ahp.URI, error) { return place.JoinURI(id, there) }

// SplitProvider is place.SplitProvider.
func SplitProvider(provider string) (id, there string) { return place.SplitProvider(provider) }

// JoinProvider is place.JoinProvider.
func JoinProvider(id, there string) string { return place.JoinProvider(id, there) }

func fileURI(p string) ahp.URI { return place.FileURI(p) }
