package filecache

import "testing"

func TestNothingIsAddedToFullDisk(t *testing.T) {
	dir := t.TempDir()
	c := open(t, Config{Dir: dir})
	c.Put("a", []byte("one"))
	c.cfg.Free = 1 << 62
	c.Put("b", []byte("two"))
	if got := names(t, dir); len(got) != 1 || string(c.Get("a")) != "one" {
		t.Errorf("there are %q", got)
	}
}
