// Command bench_ui measures the review page in headless Chromium against the criteria P1–P7, on
// pages rendered from generated fixtures, and prints a table for docs/performance.md. With -shots
// it takes screenshots of every state.
package main

import (
	"context"
	"flag"
	"fmt"
	"log"
	"os"
	"strings"
)

func main() {
	shots := flag.String("shots", "", "directory to write pictures of every state to, instead of measuring")
	only := flag.String("only", "", "measure these fixtures alone, as in d1,d4")
	runs := flag.Int("runs", 5, "page loads a figure is the median of")
	flag.Parse()
	if err := run(context.Background(), *shots, *only, *runs); err != nil {
		log.Fatal(err)
	}
}

func run(ctx context.Context, shots, only string, runs int) error {
	s, err := newSite()
	if err != nil {
		return err
	}
	defer s.Close()
	if shots != "" {
		tab, stop := browser(ctx)
		defer stop()
		return pictures(tab, s, shots)
	}
	names := []string{"d1", "d2", "d3", "d4"}
	if only != "" {
		names = strings.Split(only, ",")
	}
	fmt.Fprintln(os.Stdout, header)
	for _, name := range names {
		if err := fresh(ctx, s, name, runs); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	return nil
}

// fresh measures in separate browsers, so that earlier fixtures and loads do not affect the result.
func fresh(ctx context.Context, s *site, name string, runs int) error {
	r := report{os.Stdout, name}
	tab, stop := browser(ctx)
	err := measure(tab, s, r, runs)
	stop()
	if err != nil {
		return err
	}
	tab, stop = browser(ctx)
	defer stop()
	return rest(tab, s, r)
}
