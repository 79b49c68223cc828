package join

import (
	"context"
	"errors"
	"math/rand/v2"
	"net"
	"time"
)

const (
	firstPause = time.Second
	mostPause  = 30 * time.Second
	steady     = time.Minute // a connection that lasted this long resets the pause
)

// Keep keeps a machine connected until ctx ends, which is no error. serve uses a connection until it or its context
// ends. down gets the reason for a disconnect and the time until the next attempt. A RefusedError ends Keep.
func Keep(ctx context.Context, r Request, serve func(context.Context, net.Conn, Welcome) error,
	down func(err error, next time.Duration)) error {
	pause := firstPause
	for {
		began := time.Now()
		joined, err := once(ctx, r, serve)
		if joined {
			r.Invite = nil // it is valid once
		}
		if ctx.Err() != nil {
			return nil
		}
		if refused, ok := errors.AsType[*RefusedError](err); ok {
			return refused
		}
		if errors.Is(err, ErrWrongHub) {
			return ErrWrongHub
		}
		if time.Since(began) > steady {
			pause = firstPause
		}
		next := pause/2 + rand.N(pause/2+1) // jitter: machines do not reconnect all at once when their hub returns
		down(err, next)
		select {
		case <-time.After(next):
		case <-ctx.Done():
			return nil
		}
		pause = min(2*pause, mostPause)
	}
}

var errLost = errors.New("the connection was lost")

// once connects once. joined reports whether the hub accepted the machine.
func once(ctx context.Context, r Request, serve func(context.Context, net.Conn, Welcome) error) (joined bool, err error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	conn, welcome, err := Connect(ctx, r)
	if err != nil {
		return false, err
	}
	defer conn.Close()
	if err := serve(ctx, conn, welcome); err != nil {
		return true, err
	}
	return true, errLost
}
