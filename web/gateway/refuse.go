package gateway

import (
	"net/http"
	"strings"
)

// refuse answers that the cluster has no leader. Pages reload automatically.
func refuse(w http.ResponseWriter, r *http.Request, why error) {
	h := w.Header()
	h.Set("Retry-After", "2")
	h.Set("Cache-Control", "no-store")
	if r.Method != http.MethodGet || !strings.Contains(r.Header.Get("Accept"), "text/html") {
		http.Error(w, why.Error(), http.StatusServiceUnavailable)
		return
	}
	h.Set("Content-Type", "text/html; charset=utf-8")
	h.Set("Content-Security-Policy", "default-src 'none'; style-src 'unsafe-inline'")
	h.Set("X-Content-Type-Options", "nosniff")
	w.WriteHeader(http.StatusServiceUnavailable)
	_, _ = w.Write([]byte(noLeaderPage)) // the browser may have disconnected
}

// noLeaderPage repeats the colors of other pages, because their style sheets may be unavailable.
const noLeaderPage = `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<meta http-equiv="refresh" content="2">
<title>Waiting for the cluster · ahphub</title>
<style>
:root{color-scheme:light dark;--text:light-dark(#1b1f24,#e6e8ea);--dim:light-dark(#57606a,#a0a8b0);--line:light-dark(#dcdfe3,#2d3237)}
body{margin:0;min-height:100vh;display:grid;place-items:center;font:14px/1.5 Inter,system-ui,sans-serif;color:var(--text);background:light-dark(#fff,#111315)}
main{max-width:24rem;padding:16px 16px 96px}
h1{margin:12px 0 4px;font-size:20px;font-weight:600}
p{margin:0;color:var(--dim)}
.wait{width:20px;height:20px;border:2px solid var(--line);border-top-color:var(--dim);border-radius:50%}
@media (prefers-reduced-motion:no-preference){.wait{animation:turn 1s linear infinite}}
@keyframes turn{to{rotate:1turn}}
</style>
<main>
<div class="wait"></div>
<h1>Waiting for the cluster</h1>
<p>No server of this cluster can answer right now. Nothing is lost. The page opens automatically as soon as one can.</p>
</main>
</html>
`
