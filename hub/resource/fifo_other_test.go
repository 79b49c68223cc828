//go:build !unix

package resource

import "errors"

func mkfifo(string) error { return errors.ErrUnsupported }
