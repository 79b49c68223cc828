package machine

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ahphub/ahphub/hub/ahp"
)

func TestEncodeContent(t *testing.T) {
	cases := []struct {
		name, data string
		want       ahp.ContentEncoding
		out        ahp.ResourceReadResult
	}{
		{"a.txt", "hé", "", ahp.ResourceReadResult{Data: "hé", Encoding: "utf-8",
			ContentType: "text/plain; charset=utf-8"}},
		{"a.txt", "hé", "base64", ahp.ResourceReadResult{Data: "aMOp", Encoding: "base64",
			ContentType: "text/plain; charset=utf-8"}},
		{"a.json", "{}", "utf-8", ahp.ResourceReadResult{Data: "{}", Encoding: "utf-8",
			ContentType: "application/json"}},
		{"a.png", "\x89PNG\r\n\x1a\n\xff", "utf-8", ahp.ResourceReadResult{Data: "iVBORw0KGgr/", Encoding: "base64",
			ContentType: "image/png"}},
		{"a.png", "no picture", "", ahp.ResourceReadResult{Data: "no picture", Encoding: "utf-8",
			ContentType: "text/plain; charset=utf-8"}},
	}
	for _, c := range cases {
		if d := cmp.Diff(c.out, EncodeContent(MediaType(c.name, []byte(c.data)), []byte(c.data), c.want)); d != "" {
			t.Errorf("%s as %q: %s", c.name, c.want, d)
		}
	}
}
