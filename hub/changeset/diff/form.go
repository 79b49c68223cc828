package diff

import (
	"bytes"
	"path"
	"strings"
)

// IsBinary applies git's rule: a zero byte within the first 8000.
func IsBinary(data []byte) bool {
	return bytes.IndexByte(data[:min(len(data), 8000)], 0) >= 0
}

// ImageType returns the media type of an image that browsers show, from the name and the first
// bytes; "" for other files. SVG is excluded: it is text, and its lines are more useful.
func ImageType(name string, data []byte) string {
	for _, m := range magics {
		if strings.EqualFold(path.Ext(name), m.ext) && bytes.HasPrefix(data, []byte(m.magic)) {
			return m.media
		}
	}
	return ""
}

var magics = []struct{ ext, magic, media string }{
	{".png", "\x89PNG\r\n\x1a\n", "image/png"},
	{".jpg", "\xff\xd8\xff", "image/jpeg"},
	{".jpeg", "\xff\xd8\xff", "image/jpeg"},
	{".gif", "GIF8", "image/gif"},
	{".webp", "RIFF", "image/webp"},
	{".bmp", "BM", "image/bmp"},
	{".ico", "\x00\x00\x01\x00", "image/x-icon"},
	{".avif", "\x00\x00\x00", "image/avif"},
}
