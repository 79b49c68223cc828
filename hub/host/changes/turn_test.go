package changes

import (
	"testing"
)

func TestTurnsInOneDirectoryAreFlagged(t *testing.T) {
	var running runningTurns
	begin := func(id string, dirs ...string) bool { return running.begin(TurnRef{Turn: id}, &turnRecord{dirs: dirs}) }
	if begin("1", "/a") || begin("2", "/ab") {
		t.Error("turns in different directories are flagged")
	}
	if !begin("3", "/a/b", "/c") {
		t.Error("a turn below another's directory is not flagged")
	}
	if !running.end("1") || running.end("2") || !running.end("3") || running.end("3") {
		t.Error("the wrong turns overlapped")
	}
}
