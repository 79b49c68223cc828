package changes

import "testing"

// A changeset that is followed while the watching goroutine is about to end is watched.
func TestLateFollowerIsWatched(t *testing.T) {
	l := newLedger(keeper{}, "ahp-session:/one")
	if slept, watch := l.schedule.follow("a"); !slept || !watch {
		t.Fatalf("the first follower: slept %v, has to watch %v", slept, watch)
	}
	l.schedule.leave("a")
	if l.schedule.isFollowed() {
		t.Fatal("it is followed still")
	}
	if _, watch := l.schedule.follow("b"); watch {
		t.Fatal("two goroutines would watch")
	}
	if l.schedule.stopWatching(false) {
		t.Error("watching ended although a changeset is followed")
	}
	l.schedule.leave("b")
	if !l.schedule.stopWatching(false) {
		t.Error("watching goes on although no changeset is followed")
	}
	if _, watch := l.schedule.follow("c"); !watch {
		t.Error("the next follower is not watched")
	}
}
