package pages

import (
	"encoding/json"
	"path"
	"strings"

	"github.com/ahphub/ahphub/hub/ahp"
)

// fileMeta is what the host notes of a file in its own key of `_meta`.
type fileMeta struct {
	Mode    string `json:"mode"`
	OldMode string `json:"oldMode"`
	Stale   bool   `json:"changedSinceReviewed"`
}

func ownMeta(m ahp.Meta) (f fileMeta) {
	_ = json.Unmarshal(m["ahphub"], &f) // absent: nothing is known
	return f
}

// imageType is the media type of pictures that browsers draw, by the file's name; "" for others. SVG is text.
func imageType(name string) string {
	switch strings.ToLower(path.Ext(name)) {
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
