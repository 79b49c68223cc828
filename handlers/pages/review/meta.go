package review

import (
	"path"
	"strings"

	"github.com/ahphub/ahphub/hub/changeset/diff"
	"github.com/ahphub/ahphub/hub/machine"
)

const svgType = "image/svg+xml"

// imageType returns the media type of pictures that browsers draw, by the file's name; "" for others. SVG is text
// as well: it is shown as a picture over its lines, and never as a part of the page.
func imageType(name string) string {
	switch strings.ToLower(path.Ext(name)) {
	case ".svg":
		return svgType
	case ".png":
		return "image/png"
	case ".jpg", ".jpeg":
		return "image/jpeg"
	case ".gif":
		return "image/gif"
	case ".webp":
		return "image/webp"
	case ".avif":
		return "image/avif"
	case ".bmp":
		return "image/bmp"
	case ".ico":
		return "image/x-icon"
	}
	return ""
}

// pictureType returns the media type a picture is served as: what its bytes are, and of text SVG alone.
func pictureType(name string, data []byte) string {
	if imageType(name) == svgType && !diff.IsBinary(data) {
		return svgType
	}
	return diff.ImageType(name, data)
}

// foldedKind says why a file that has few changes is folded all the same: what its repository's attributes say goes
// before what its name and its first lines tell.
func foldedKind(name string, said machine.Generated, f *diff.File) string {
	kind := diff.Folded(name)
	switch {
	case len(f.Hunks) == 0 || said == machine.GeneratedNo:
		return ""
	case kind == "" && (said == machine.GeneratedYes || f.Generated):
		return "generated"
	}
	return kind
}
