package main

import (
	"context"
	"errors"
	"io"
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
	if cfg.Cluster.Cluster {
		return runNode(ctx, cfg, set, l, log, tel, stdout)
	}
	if err := refuseMember(cfg.Data); err != nil {
		return err
	}
	a, err := build(ctx, cfg, set, l, log, tel, nil)
	if err != nil {
		return err
	}
	parts := []func(context.Context) error{
		func(ctx context.Context) error { tel.Run(ctx); return nil },
		func(ctx context.Context) error { return a.web.Serve(ctx, l) },
	}
	if secured != nil {
		parts = append(parts, func(ctx context.Context) error { return secured.serve(ctx, a.web, a.public) })
	}
	return errors.Join(a.serve(ctx, func(ctx context.Context) error { return a.announce(ctx, stdout) }, parts...), a.close())
}

// serve runs the host and further parts concurrently, and calls begun once they do. If one fails the others end.
func (a *app) serve(ctx context.Context, begun func(context.Context) error, parts ...func(context.Context) error) error {
	ctx, end := context.WithCancel(ctx)
	defer end()
	parts = append(parts, a.host.Run, a.notify.Run)
	if a.relayed != nil {
		parts = append(parts, func(ctx context.Context) error { return a.web.ServeAgents(ctx, a.relayed) })
	}
	var wg sync.WaitGroup
	errs := make([]error, len(parts))
	for i, part := range parts {
		wg.Go(func() { defer end(); errs[i] = part(ctx) })
	}
	wg.Go(func() { a.keepSeen(ctx) })
	wg.Go(func() { a.followAbsences(ctx) })
	wg.Go(func() { a.keepMachinesFile(ctx) })
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
	err := begun(ctx)
	if err != nil {
		end()
	}
	wg.Wait()
	return errors.Join(err, errors.Join(errs...))
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
