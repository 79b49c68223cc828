package core

import (
	"context"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
)

func TestLanesKeepOrderAndDoNotWaitForEachOther(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, gate := NewLanes(), make(chan struct{})
		var mu sync.Mutex
		done := map[string][]int{}
		add := func(key string, i int, wait <-chan struct{}) {
			l.Add(t.Context(), key, func(context.Context) {
				if wait != nil {
					<-wait
				}
				mu.Lock()
				defer mu.Unlock()
				done[key] = append(done[key], i)
			})
		}
		add("slow", 0, gate)
		for i := range 5 {
			add("slow", i+1, nil)
			add("quick", i, nil)
		}
		synctest.Wait()
		if len(done["slow"]) != 0 || !slices.Equal(done["quick"], []int{0, 1, 2, 3, 4}) {
			t.Errorf("while one lane is busy: %v", done)
		}
		close(gate)
		l.Close()
		if !slices.Equal(done["slow"], []int{0, 1, 2, 3, 4, 5}) {
			t.Errorf("the busy lane ran %v", done["slow"])
		}
		add("late", 0, nil)
		synctest.Wait()
		if len(l.queues) != 0 || done["late"] != nil {
			t.Error("a closed runner took more")
		}
	})
}
