package main

import (
	"context"
	"errors"
	"io"
	"net"
	"sync"

	"github.com/ahphub/ahphub/hub/telemetry"
)

// run serves until ctx ends, and then stops everything it started within 5 s.
func run(ctx context.Context, cfg Config, stdout, stderr io.Writer) error {
	set, err := cfg.check()
	if err != nil {
		return err
	}
	l, err := listen(cfg.Listen)
	if err != nil {
		return err // nothing was touched yet
	}
	defer l.Close()
	tel := telemetry.New(telemetry.Config{Name: "ahphub", Version: versionName()})
	log := newLog(stderr, cfg.LogFormat, cfg.LogLevel, tel.Hidden, tel.Handler())
	secured, err := cfg.TLS.secure(cfg.Data, log)
	if secured != nil {
		defer secured.close()
		set.use(secured, l)
	}
	if err != nil {
		return err
	}
	a, err := build(ctx, cfg, set, l, log, tel)
	if err != nil {
		return err
	}
	return errors.Join(a.serve(ctx, l, stdout), a.close())
}

// serve runs the host and the server concurrently. If one fails the other ends.
func (a *app) serve(ctx context.Context, l net.Listener, stdout io.Writer) error {
	ctx, end := context.WithCancel(ctx)
	defer end()
	var wg sync.WaitGroup
	var hostErr, webErr, notifyErr, secureErr, sandboxErr error
	wg.Go(func() { a.telemetry.Run(ctx) })
	wg.Go(func() { defer end(); hostErr = a.host.Run(ctx) })
	wg.Go(func() { defer end(); webErr = a.web.Serve(ctx, l) })
	wg.Go(func() { defer end(); notifyErr = a.notify.Run(ctx) })
	wg.Go(func() { a.keepSeen(ctx) })
	wg.Go(func() { a.followAbsences(ctx) })
	wg.Go(func() { a.keepMachinesFile(ctx) })
	if a.relayed != nil {
		wg.Go(func() { defer end(); sandboxErr = a.web.ServeAgents(ctx, a.relayed) })
	}
	if a.secured != nil {
		wg.Go(func() { defer end(); secureErr = a.secured.serve(ctx, a.web, a.public) })
	}
	if a.provider != nil {
		wg.Go(func() { a.provider.OIDC.Run(ctx) })
	}
	wg.Go(func() {
		select {
		case <-a.journal.done: // the journal failed: it normally ends in close
			end()
		case <-ctx.Done():
		}
	})
	err := a.announce(ctx, stdout)
	if err != nil {
		end()
	}
	wg.Wait()
	return errors.Join(err, hostErr, webErr, notifyErr, secureErr, sandboxErr)
}

// task is a goroutine that can be stopped, with its result.
type task struct {
	cancel context.CancelFunc
	done   chan struct{}
	err    error // once done is closed
}

func start(ctx context.Context, run func(context.Context) error) *task {
	ctx, cancel := context.WithCancel(ctx)
	t := &task{cancel: cancel, done: make(chan struct{})}
	go func() {
		defer close(t.done)
		t.err = run(ctx)
	}()
	return t
}

func (t *task) stop() error {
	t.cancel()
	<-t.done
	return t.err
}
