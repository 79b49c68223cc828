package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/chromedp/chromedp"

	"github.com/ahphub/ahphub/templ/part"
)

// shot is a screenshot: a page, a script to run in it, and its size.
type shot struct {
	name, path, script string
	phone              bool
}

func allShots() []shot {
	greet := "#f-" + part.DiffKey("cmd/greet/main.go")
	return []shot{
		{name: "unified", path: "/s/states/changes"},
		{name: "split", path: "/s/states/changes?view=split"},
		{name: "forms", path: "/s/states/changes" + greet + "R13-R15", script: press("c")},
		{name: "lower", path: "/s/states/changes", script: "document.querySelectorAll('.file')[5].scrollIntoView()"},
		{name: "lower2", path: "/s/states/changes", script: "document.querySelectorAll('.file')[9].scrollIntoView()"},
		{name: "moved", path: "/s/states/changes",
			script: "document.querySelector('[data-path=\"greet/farewell.go\"].file').scrollIntoView()"},
		{name: "movedsplit", path: "/s/states/changes?view=split",
			script: "document.querySelector('[data-path=\"greet/order.go\"].file').scrollIntoView()"},
		{name: "images", path: "/s/states/changes",
			script: "document.querySelector('[data-path=\"web/logo.svg\"].file').scrollIntoView()"},
		{name: "hunk", path: "/s/d1/changes", script: press("n") + ";" + press("V") + ";" + press("V") +
			";document.querySelector('#ws').open=true"},
		{name: "hunksplit", path: "/s/d1/changes?view=split", script: press("n") + ";" + press("V") + ";" + press("V")},
		{name: "d1", path: "/s/d1/changes"},
		{name: "d1split", path: "/s/d1/changes?view=split"},
		{name: "empty", path: "/s/none/changes"},
		{name: "computing", path: "/s/none/changes?state=computing"},
		{name: "error", path: "/s/none/changes?state=error"},
		{name: "file", path: "/s/states/changes/file/" + part.DiffKey("cmd/greet/main.go") + "?comment=R13"},
		{name: "phonemoved", path: "/s/states/changes", phone: true,
			script: "document.querySelector('[data-path=\"greet/farewell.go\"].file').scrollIntoView()"},
		{name: "phonehunk", path: "/s/d1/changes", phone: true, script: press("n") + ";" + press("V") + ";" +
			press("V")},
		{name: "phoneimages", path: "/s/states/changes", phone: true,
			script: "document.querySelector('[data-path=\"web/logo.svg\"].file').scrollIntoView()"},
		{name: "phone", path: "/s/states/changes", phone: true},
		{name: "phonelow", path: "/s/states/changes", phone: true,
			script: "document.querySelectorAll('.thr')[1].scrollIntoView()"},
	}
}

func press(key string) string {
	return fmt.Sprintf("document.dispatchEvent(new KeyboardEvent('keydown',{key:%q,bubbles:true}))", key)
}

func pictures(ctx context.Context, s *site, dir string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	var c complaints
	if err := c.listen(ctx); err != nil {
		return err
	}
	for _, sh := range allShots() {
		for _, theme := range []string{"light", "dark"} {
			if err := picture(ctx, s, sh, theme, filepath.Join(dir, sh.name+"-"+theme+".png")); err != nil {
				return fmt.Errorf("%s: %w", sh.name, err)
			}
			for _, text := range c.take() {
				fmt.Printf("%s %s: %s\n", sh.name, theme, text)
			}
		}
	}
	return nil
}

func picture(ctx context.Context, s *site, sh shot, theme, file string) error {
	w, h := int64(1440), int64(900)
	if sh.phone {
		w, h = 390, 844
	}
	script := sh.script
	if script == "" {
		script = "0"
	}
	if err := chromedp.Do(ctx, size(w, h, sh.phone), chromedp.Navigate("about:blank"),
		chromedp.Navigate(s.URL+themed(sh.path, theme)),
		chromedp.WaitReady("#review")); err != nil {
		return err
	}
	if _, err := chromedp.Run(ctx, chromedp.Evaluate[int]("{"+script+
		"};new Promise(r=>requestAnimationFrame(()=>requestAnimationFrame(()=>r(1))))",
		chromedp.EvalAwaitPromise)); err != nil {
		return err
	}
	png, err := chromedp.Run(ctx, chromedp.CaptureScreenshot())
	if err != nil {
		return err
	}
	return os.WriteFile(file, png, 0o644)
}

// themed adds the theme to the query, before the fragment.
func themed(path, theme string) string {
	hash := ""
	for i := range path {
		if path[i] == '#' {
			path, hash = path[:i], path[i:]
			break
		}
	}
	sep := "?"
	for i := range path {
		if path[i] == '?' {
			sep = "&"
		}
	}
	return path + sep + "theme=" + theme + hash
}
