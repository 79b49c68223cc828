package review

import (
	"path"
	"strings"

	"github.com/ahphub/ahphub/hub/changeset/diff"
	"github.com/ahphub/ahphub/hub/machine"
)

const svgType = "image/svg+xml"

// imageType returns the media type of pictures that browsers render, by file name; "" for others. SVG is also
// text: it is shown as a picture above its lines, and never as a part of the page.
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

// pictureType returns the media type to serve a picture with: detected from its bytes, or SVG if it is text.
func pictureType(name string, data []byte) string {
	if imageType(name) == svgType && !diff.IsBinary(data) {
		return svgType
	}
	return diff.ImageType(name, data)
}

// foldedKind returns why a file with few changes is folded; "" if it is not. The repository's
// attributes take precedence over the file's name and first lines.
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
