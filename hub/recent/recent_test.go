package recent

import "testing"

func TestValuesKeepWhatWasUsedLast(t *testing.T) {
	v := Values[int, string]{Bytes: 40}
	for i := range 4 {
		v.Put(i, "value", 10)
	}
	v.Get(0)
	v.Put(4, "value", 10)
	if _, ok := v.Get(1); ok {
		t.Error("the one that was not used for the longest is kept")
	}
	if _, ok := v.Get(0); !ok {
		t.Error("one that was used is thrown out")
	}
	if bytes, n := v.Used(); bytes != 40 || n != 4 {
		t.Errorf("%d bytes of %d values are kept", bytes, n)
	}
	v.Drop(0)
	v.Drop(1)
	if bytes, n := v.Used(); bytes != 30 || n != 3 {
		t.Errorf("after one was dropped, %d bytes of %d values are kept", bytes, n)
	}
}

func TestValuesKeepTheFirst(t *testing.T) {
	var v Values[string, int]
	v.Put("a", 1, 1)
	v.Put("a", 2, 1)
	if n, _ := v.Get("a"); n != 1 {
		t.Errorf("got %d", n)
	}
	v.Put("large", 3, 32<<20)
	if _, ok := v.Get("large"); ok {
		t.Error("one value takes half of the place")
	}
}
