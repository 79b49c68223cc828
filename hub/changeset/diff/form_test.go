package diff

import "testing"

func TestImageType(t *testing.T) {
	cases := []struct{ name, data, want string }{
		{"a/logo.PNG", "\x89PNG\r\n\x1a\nrest", "image/png"},
		{"a.jpeg", "\xff\xd8\xff\xe0", "image/jpeg"},
		{"a.png", "not a picture", ""},
		{"a.txt", "\x89PNG\r\n\x1a\n", ""},
		{"a.svg", "<svg/>", ""},
		{"a.png", "", ""},
	}
	for _, c := range cases {
		if got := ImageType(c.name, []byte(c.data)); got != c.want {
			t.Errorf("%s %q: %q, want %q", c.name, c.data, got, c.want)
		}
	}
}

func TestIsBinary(t *testing.T) {
	far := make([]byte, 9000)
	for i := range far {
		far[i] = 'x'
	}
	far[8500] = 0
	for data, want := range map[string]bool{"text\n": false, "a\x00": true, "": false, "\xff\xfe": false,
		string(far): false} {
		if IsBinary([]byte(data)) != want {
			t.Errorf("%.10q: want %v", data, want)
		}
	}
}
