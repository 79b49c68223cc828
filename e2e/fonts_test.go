package e2e

import "testing"

// fontsOf reports whether the fonts named by pages are loaded, and how wide they render a text
// compared with their fallback.
const fontsOf = `(async () => {
	await document.fonts.ready;
	const text = 'Greet in the language of the person. Add to review, 3 open threads, Queue; the quick brown fox 0123456789 jumps';
	const context = document.createElement('canvas').getContext('2d');
	const width = (font) => { context.font = font; return context.measureText(text).width; };
	const found = [];
	for (const [family, weights, like] of [['Inter', [400, 600], ['Like Inter', 'Like Inter 2']],
		['JetBrains Mono', [400, 600], ['Like JetBrains Mono', 'Like JetBrains Mono 2', 'Like JetBrains Mono 3']]]) {
		for (const weight of weights) {
			const faces = await document.fonts.load(weight + ' 14px "' + family + '"', text);
			if (faces.length !== 1 || faces[0].status !== 'loaded') return [family + ' did not load'];
			let some = false;
			for (const other of like) {
				const here = await document.fonts.load(weight + ' 14px "' + other + '"', text).catch(() => []);
				if (!here.length || here[0].status !== 'loaded') continue;
				some = true;
				const ratio = width(weight + ' 100px "' + other + '"') / width(weight + ' 100px "' + family + '"');
				found.push(family + ' ' + weight + ' ' + other + ' ' + ratio.toFixed(4));
				if (Math.abs(ratio - 1) > 0.02) return [other + ' is ' + ratio + ' times as wide as ' + family + ' at ' + weight];
			}
			if (!some) found.push(family + ' ' + weight + ': this system has no font that is like it');
		}
	}
	return ['', ...found];
})()`

// Pages use their own fonts, and loading them shifts nothing: the fallback has the same width.
func TestFontsArriveWithoutAShift(t *testing.T) {
	t.Parallel()
	prog := Start(t, Options{Args: []string{"--agent", "script"}})
	p := OpenBrowser(t).Page()
	p.SignIn(prog)
	session := newSession(p, prog, "say # Title\\n\\nSome *text* with `code` in it, and more of it.")
	p.Open(prog.URL + session)
	said := awaited[[]string](p, fontsOf)
	if said[0] != "" {
		t.Error(said[0])
	}
	for _, s := range said[1:] {
		t.Log(s)
	}
	for selector, want := range map[string]string{"body": "Inter", "#turns code": "JetBrains Mono"} {
		p.Wait(`document.querySelector('` + selector + `')`)
		if got := Eval[string](p, `getComputedStyle(document.querySelector('`+selector+
			`')).fontFamily.split(',')[0].replaceAll('"', '')`); got != want {
			t.Errorf("%s is set in %q, want %q", selector, got, want)
		}
	}
	shift := awaited[float64](p, `new Promise((done) => { let sum = 0;
		new PerformanceObserver((list) => { for (const e of list.getEntries()) if (!e.hadRecentInput) sum += e.value; })
			.observe({ type: 'layout-shift', buffered: true });
		requestAnimationFrame(() => requestAnimationFrame(() => setTimeout(() => done(sum)))); })`)
	if shift > 0.02 {
		t.Errorf("the page shifted by %.3f while it loaded", shift)
	}
	p.leave()
}
