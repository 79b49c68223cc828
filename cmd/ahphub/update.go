package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"
)

// updateCommand checks for newer releases. Only this command does; a server never checks by itself.
type updateCommand struct {
	Check bool   `help:"Ask whether there is a newer release. Nothing is downloaded or changed."`
	Feed  string `name:"update-feed" default:"https://github.com/ahphub/ahphub/releases/latest/download/release.json" placeholder:"URL" help:"Where the newest release is described. Default: ${default}."`
}

// release is the feed's description of the newest release.
type release struct {
	Version string `json:"version"`
	URL     string `json:"url"`
}

const (
	updateTimeout  = 10 * time.Second
	mostFeed       = 64 << 10
	mostReleaseURL = 500
)

// Run prints this version, the newest one and whether they differ.
func (c updateCommand) Run(e *environment) error {
	if !c.Check {
		return errors.New("use ahphub update --check: it asks for the newest release. To install one, use the way you " +
			"installed this one")
	}
	ctx, cancel := context.WithTimeout(e.ctx, updateTimeout)
	defer cancel()
	newest, err := newestRelease(ctx, c.Feed)
	if err != nil {
		return fmt.Errorf("cannot ask for the newest release at %s: %w", c.Feed, err)
	}
	current := strings.TrimPrefix(versionName(), "v")
	printLine(e.stdout, "current", current)
	printLine(e.stdout, "newest", newest.Version)
	switch order, known := compareVersions(current, newest.Version); {
	case !known:
		printLine(e.stdout, "update", "unknown: this version was not released")
	case order < 0:
		printLine(e.stdout, "update", "available")
		printLine(e.stdout, "url", newest.URL)
	default:
		printLine(e.stdout, "update", "none")
	}
	return nil
}

func newestRelease(ctx context.Context, feed string) (r release, err error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, feed, nil)
	if err != nil {
		return r, err
	}
	request.Header.Set("User-Agent", "ahphub") // includes neither the version nor the machine
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		var wrapped *url.Error
		if errors.As(err, &wrapped) {
			err = wrapped.Err
		}
		return r, err
	}
	defer answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		return r, fmt.Errorf("it answers %s", answer.Status)
	}
	text, err := io.ReadAll(io.LimitReader(answer.Body, mostFeed+1))
	if err != nil {
		return r, err
	}
	if len(text) > mostFeed || json.Unmarshal(text, &r) != nil {
		return r, errors.New("the answer is not the description of a release")
	}
	if _, known := versionNumbers(r.Version); !known {
		return r, errors.New("the answer names no version")
	}
	if page, err := url.Parse(r.URL); err != nil || page.Scheme != "https" || len(r.URL) > mostReleaseURL {
		r.URL = ""
	}
	return r, nil
}

// compareVersions compares versions such as 1.2.3; known is false if one was not released.
func compareVersions(a, b string) (order int, known bool) {
	x, knownX := versionNumbers(a)
	y, knownY := versionNumbers(b)
	for i := range x {
		if x[i] != y[i] {
			return x[i] - y[i], knownX && knownY
		}
	}
	return 0, knownX && knownY
}

// versionNumbers splits 1.2.3. A fourth number is 0 for a pre-release (1.2.3-rc.1), 1 for the
// release and 2 for a later build (1.2.3-4-gabcdef).
func versionNumbers(version string) (numbers [4]int, known bool) {
	core, rest, _ := strings.Cut(strings.TrimPrefix(version, "v"), "-")
	parts := strings.Split(core, ".")
	if len(parts) != 3 {
		return numbers, false
	}
	for i, part := range parts {
		n, err := strconv.Atoi(part)
		if err != nil || n < 0 || n > 1<<20 {
			return numbers, false
		}
		numbers[i] = n
	}
	switch {
	case rest == "" || rest == "dirty":
		numbers[3] = 1
	case strings.Contains(rest, "-g"):
		numbers[3] = 2
	}
	return numbers, true
}
