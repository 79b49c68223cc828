package people

import (
	"fmt"
	"strings"

	"rsc.io/qr"

	"github.com/ahphub/ahphub/templ/page"
)

// code draws an address as a QR code: each run of dark modules in a row is one rectangle of the path. It returns nil
// if the address is empty or too long.
func code(address string) *page.Code {
	if address == "" {
		return nil
	}
	c, err := qr.Encode(address, qr.M)
	if err != nil {
		return nil
	}
	var path strings.Builder
	for y := range c.Size {
		for x := 0; x < c.Size; x++ {
			from := x
			for x < c.Size && c.Black(x, y) {
				x++
			}
			if x > from {
				fmt.Fprintf(&path, "M%d %dh%dv1h-%dz", from, y, x-from, x-from)
			}
		}
	}
	return &page.Code{Size: c.Size, Path: path.String()}
}
