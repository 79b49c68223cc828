package diff

import (
	"bytes"
	"encoding/binary"
	"image"
	_ "image/gif"  // the sizes of pictures
	_ "image/jpeg" // likewise
	_ "image/png"  // likewise
)

// Pixels is the size of an image; zero if unknown.
type Pixels struct{ W, H int }

// PixelsOf reads the size of a PNG, JPEG, GIF, WebP, AVIF or BMP from its header.
func PixelsOf(data []byte) Pixels {
	if c, _, err := image.DecodeConfig(bytes.NewReader(data)); err == nil {
		return Pixels{c.Width, c.Height}
	}
	switch {
	case len(data) >= 30 && string(data[:4]) == "RIFF" && string(data[8:12]) == "WEBP":
		return webp(data)
	case len(data) >= 12 && string(data[4:8]) == "ftyp":
		return avif(data)
	case len(data) >= 26 && string(data[:2]) == "BM":
		h := int32(binary.LittleEndian.Uint32(data[22:])) // negative: rows are top-down
		return sane(int64(binary.LittleEndian.Uint32(data[18:])), int64(max(h, -h)))
	}
	return Pixels{}
}

func webp(data []byte) Pixels {
	u16 := func(at int) int64 { return int64(binary.LittleEndian.Uint16(data[at:])) & 0x3fff }
	u24 := func(at int) int64 { return int64(data[at]) | int64(data[at+1])<<8 | int64(data[at+2])<<16 }
	switch string(data[12:16]) {
	case "VP8 ":
		return sane(u16(26), u16(28))
	case "VP8L":
		b := binary.LittleEndian.Uint32(data[21:])
		return sane(int64(b&0x3fff)+1, int64(b>>14&0x3fff)+1)
	case "VP8X":
		return sane(u24(24)+1, u24(27)+1)
	}
	return Pixels{}
}

// avif finds the first box with a size, which is the image's.
func avif(data []byte) Pixels {
	head := data[:min(len(data), 4096)]
	at := bytes.Index(head, []byte("ispe"))
	if at < 0 || len(head) < at+16 {
		return Pixels{}
	}
	return sane(int64(binary.BigEndian.Uint32(head[at+8:])), int64(binary.BigEndian.Uint32(head[at+12:])))
}

func sane(w, h int64) Pixels {
	if w <= 0 || h <= 0 || w > 1<<20 || h > 1<<20 {
		return Pixels{}
	}
	return Pixels{int(w), int(h)}
}
