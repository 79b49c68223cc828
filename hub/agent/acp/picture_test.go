package acp

import (
	"encoding/base64"
	"strings"
	"testing"

	"github.com/ahphub/ahphub/hub/agent"
	"github.com/ahphub/ahphub/hub/ahp"
)

// keepingHost keeps pictures in memory.
type keepingHost struct {
	agent.Host
	kept []string
}

func (h *keepingHost) Keep(path string, content []byte) (ahp.ContentRef, error) {
	h.kept = append(h.kept, path)
	return ahp.ContentRef{URI: "ahp-blob:" + path, SizeHint: ahp.Ptr(int64(len(content)))}, nil
}

func TestPicturesOfAnswersAreChecked(t *testing.T) {
	const png = "\x89PNG\x0D\x0A\x1A\x0A"
	encode := func(s string) string { return base64.StdEncoding.EncodeToString([]byte(s)) }
	host := &keepingHost{}
	for name, test := range map[string]struct{ media, data, want string }{
		"a picture, whatever it is called": {"image/svg+xml", encode(png), "image/png"},
		"SVG called a PNG": {"image/png", encode("<svg><script>alert(1)</script></svg>"),
			"its content is not PNG, JPEG, GIF or WebP"},
		"a page":        {"text/html", encode("<html>"), "its content is not PNG"},
		"not base64":    {"image/png", "*", "can't be decoded"},
		"2 MiB":         {"image/png", encode(png + strings.Repeat("x", 2<<20-len(png))), "image/png"},
		"more than 2":   {"image/png", encode(png + strings.Repeat("x", 2<<20)), "larger than 2 MiB"},
		"far more than": {"image/png", strings.Repeat("A", 8<<20), "larger than 2 MiB"},
	} {
		s := &stream{}
		ref, err := s.keepPicture(host, block{Type: "image", MimeType: test.media, Data: test.data})
		got := ref.ContentType
		if err != nil {
			got = err.Error()
		}
		if !strings.Contains(got, test.want) || err == nil && got != test.want {
			t.Errorf("%s: %s, want %s", name, got, test.want)
		}
	}
	s, shown := &stream{}, 0
	for range 2 * mostPictures {
		if _, err := s.keepPicture(host, block{Data: encode(png)}); err == nil {
			shown++
		}
	}
	if shown != mostPictures {
		t.Errorf("a turn has %d pictures, want %d", shown, mostPictures)
	}
	if got := embeddedType(block{MimeType: "image/png", Data: encode("<svg/>")}); got != "application/octet-stream" {
		t.Errorf("what a tool calls a PNG and is none has the type %s", got)
	}
}
