package diff

import (
	"context"
	"sync"
	"time"
)

// painter reads the syntax of comparisons behind the readers' backs, one after the other at a low priority: of most
// languages it takes longer than all else together (35 ms for two versions of 10 KB).
type painter struct {
	mu      sync.Mutex
	jobs    []*job // in the order they were asked for
	byKey   map[Key]*job
	working bool
	closed  bool
	wg      sync.WaitGroup
}

// job is a comparison that is shown without colours.
type job struct {
	key   Key
	plain *File
	told  map[chan<- struct{}]bool
}

const (
	mostJobs  = 4096
	toldEvery = 8 // comparisons after which those who wait are told: each time they draw what is new
)

// ComputePlain returns a comparison with its colours when they are there, and otherwise without: they follow, and
// each waiting channel is signalled to ask again. A nil channel is not signalled.
func (c *Cache) ComputePlain(ctx context.Context, key Key, load func(context.Context) (old, new []byte, err error),
	tell chan<- struct{}) (*File, error) {
	if f := c.get(key); f != nil {
		return f, nil
	}
	f, err := c.Compute(ctx, key.plain(), load)
	if err == nil && !f.Binary && !f.TooBig && lexerFor(key.Path) != nil {
		c.paintLater(key, f, tell)
	}
	return f, err
}

// plain returns the key of the same comparison without colours.
func (k Key) plain() Key {
	k.Path = ""
	return k
}

func (c *Cache) paintLater(key Key, plain *File, tell chan<- struct{}) {
	p := &c.painter
	p.mu.Lock()
	defer p.mu.Unlock()
	j := p.byKey[key]
	if j == nil {
		if p.closed || len(p.jobs) >= mostJobs {
			return // it stays without until it is asked for again
		}
		j = &job{key: key, plain: plain, told: map[chan<- struct{}]bool{}}
		if p.byKey == nil {
			p.byKey = map[Key]*job{}
		}
		p.byKey[key] = j
		p.jobs = append(p.jobs, j)
	}
	if tell != nil {
		j.told[tell] = true
	}
	if !p.working {
		p.working = true
		p.wg.Go(c.paint)
	}
}

// paint reads the syntax of what waits, until nothing does.
func (c *Cache) paint() {
	lowerPriority()
	tell, n := map[chan<- struct{}]bool{}, 0
	for j := c.painter.next(); j != nil; j = c.painter.next() {
		c.paintOne(j)
		for ch := range c.painter.done(j) {
			tell[ch] = true
		}
		if n++; n%toldEvery == 0 || c.painter.idle() {
			for ch := range tell {
				select {
				case ch <- struct{}{}:
				default: // it was told already
				}
			}
			clear(tell)
		}
	}
}

func (c *Cache) paintOne(j *job) {
	if c.get(j.key) != nil {
		return
	}
	f := Compute([]byte(j.plain.texts[0]), []byte(j.plain.texts[1]), j.key.Options)
	f.Painted = time.Now()
	c.put(j.key, f)
	c.drop(j.key.plain())
}

// next returns the job to do, nil when there is none, which ends the painter's goroutine.
func (p *painter) next() *job {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed || len(p.jobs) == 0 {
		p.working = false
		return nil
	}
	return p.jobs[0]
}

// done removes a job, and returns who is to be told. Until then others may join.
func (p *painter) done(j *job) map[chan<- struct{}]bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.jobs[0] = nil
	p.jobs = p.jobs[1:]
	delete(p.byKey, j.key)
	return j.told
}

func (p *painter) idle() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.jobs) == 0
}

// Close stops reading syntax and waits for the comparison at hand.
func (c *Cache) Close() {
	c.painter.mu.Lock()
	c.painter.closed = true
	c.painter.mu.Unlock()
	c.painter.wg.Wait()
}

// SameRows reports whether f and o compare the same texts into the same rows, whatever their colours.
func (f *File) SameRows(o *File) bool {
	return f.texts == o.texts && f.Additions == o.Additions && f.Deletions == o.Deletions && len(f.Hunks) == len(o.Hunks) &&
		f.TooBig == o.TooBig && f.Binary == o.Binary && !f.Binary
}

// drop removes a comparison.
func (c *Cache) drop(key Key) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if e := c.byKey[key]; e != nil {
		c.recent.Remove(e)
		delete(c.byKey, key)
		c.used -= e.Value.(cached).size
	}
}
