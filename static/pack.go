package static

import (
	"bytes"
	"compress/gzip"
	"strconv"
	"strings"
	"sync"

	"github.com/klauspost/compress/zstd"
)

// encodings are the content codings of assets, the preferred one first.
var encodings = []struct {
	name string
	pack func(body []byte) []byte
}{{"zstd", packZstd}, {"gzip", packGzip}}

// packings are an asset's bytes in each coding, packed as well as can be when first asked for: a browser asks once.
type packings struct {
	once  sync.Once
	bytes map[string][]byte // no entry where it would not be smaller
}

// packed returns the asset in the best coding that an Accept-Encoding header allows, "" and the plain bytes when
// none is allowed or worth it.
func (f *asset) packed(accept string) (coding string, body []byte) {
	f.packings.once.Do(func() {
		f.packings.bytes = map[string][]byte{}
		for _, e := range encodings {
			if packed := e.pack(f.body); len(packed) < len(f.body) {
				f.packings.bytes[e.name] = packed
			}
		}
	})
	for _, e := range encodings {
		if packed := f.packings.bytes[e.name]; packed != nil && accepts(accept, e.name) {
			return e.name, packed
		}
	}
	return "", f.body
}

// accepts reports whether an Accept-Encoding header names a coding, and not with a weight of zero.
func accepts(header, coding string) bool {
	for item := range strings.SplitSeq(header, ",") {
		name, parameters, _ := strings.Cut(item, ";")
		if !strings.EqualFold(strings.TrimSpace(name), coding) {
			continue
		}
		weight, given := strings.CutPrefix(strings.ReplaceAll(parameters, " ", ""), "q=")
		q, err := strconv.ParseFloat(weight, 64)
		return !given || err == nil && q > 0
	}
	return false
}

func packZstd(body []byte) []byte {
	z, err := zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.SpeedBestCompression), zstd.WithEncoderConcurrency(1))
	if err != nil {
		return body
	}
	defer z.Close()
	return z.EncodeAll(body, nil)
}

func packGzip(body []byte) []byte {
	var b bytes.Buffer
	z, _ := gzip.NewWriterLevel(&b, gzip.BestCompression)
	_, _ = z.Write(body)
	_ = z.Close()
	return b.Bytes()
}
