package main

import (
	"context"
	"errors"
	"time"
)

const (
	flushEvery = time.Minute
	sweepEvery = time.Hour
)

// keepSeen regularly writes when browsers and tokens were last seen, and once more at the end, so
// that page views write nothing.
func (a *app) keepSeen(ctx context.Context) {
	flush, sweep := time.NewTicker(flushEvery), time.NewTicker(sweepEvery)
	defer flush.Stop()
	defer sweep.Stop()
	for {
		var err error
		select {
		case <-flush.C:
			err = a.flushSeen(ctx)
		case <-sweep.C:
			err = errors.Join(a.cookies.Sweep(ctx), a.notify.SweepDevices(ctx))
		case <-ctx.Done():
			last, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
			defer cancel()
			if err := a.flushSeen(last); err != nil {
				a.log.Warn("when browsers and tokens were last seen was not saved", "err", err)
			}
			return
		}
		if err != nil && ctx.Err() == nil {
			a.log.Warn("when browsers and tokens were last seen was not saved", "err", err)
		}
	}
}

func (a *app) flushSeen(ctx context.Context) error {
	return errors.Join(a.cookies.Flush(ctx), a.personal.Flush(ctx))
}
