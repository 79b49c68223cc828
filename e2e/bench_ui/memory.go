package main

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"strconv"
	"strings"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/systeminfo"
	"github.com/chromedp/chromedp"
)

// rendererMB returns the proportional memory of the largest renderer process, in MB; 0 without
// /proc.
func rendererMB(ctx context.Context) (float64, error) {
	b := chromedp.FromContext(ctx).Browser
	res, err := cdp.Call(ctx, b, systeminfo.GetProcessInfo, cdp.Empty{})
	if err != nil {
		return 0, err
	}
	most := 0.0
	for _, p := range res.ProcessInfo {
		if p.Type == "renderer" {
			most = max(most, pss(int(p.ID)))
		}
	}
	return most, nil
}

func pss(pid int) float64 {
	f, err := os.Open(fmt.Sprintf("/proc/%d/smaps_rollup", pid))
	if err != nil {
		return 0
	}
	defer f.Close()
	for sc := bufio.NewScanner(f); sc.Scan(); {
		if rest, ok := strings.CutPrefix(sc.Text(), "Pss:"); ok {
			n, _ := strconv.ParseFloat(strings.TrimSuffix(strings.TrimSpace(rest), " kB"), 64)
			return n / 1024
		}
	}
	return 0
}
