package changes

import (
	"testing"
)

func TestTurnsInOneDirectoryAreFlagged(t *testing.T) {
	var c changesets
	begin := func(id string, dirs ...string) bool { return c.began(TurnRef{Turn: id}, &turnRecord{dirs: dirs}) }
	if begin("1", "/a") || begin("2", "/ab") {
		t.Error("turns in different directories are flagged")
	}
	if !begin("3", "/a/b", "/c") {
		t.Error("a turn below another's directory is not flagged")
	}
	if !c.ended("1") || c.ended("2") || !c.ended("3") || c.ended("3") {
		t.Error("the wrong turns overlapped")
	}
}
