package e2e

import (
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
)

// toolUser is an agent that lists the hub's tools, and prints the result.
const toolUser = `#!/bin/sh
while read -r line; do
	id=$(printf %s "$line" | sed 's/.*"id":\([0-9]*\).*/\1/')
	case $line in
	*'"initialize"'*) answer='{"protocolVersion":1,"agentInfo":{"name":"opencode","version":"9.9"},"agentCapabilities":{"mcpCapabilities":{"http":true}}}' ;;
	*'"session/new"'*)
		url=$(printf %s "$line" | sed 's|.*"url":"\([^"]*\)".*|\1|')
		token=$(printf %s "$line" | sed 's|.*"value":"\(Bearer [^"]*\)".*|\1|')
		answer='{"sessionId":"s1"}' ;;
	*'"session/prompt"'*)
		got=$(curl -s -m 20 -H "Authorization: $token" -H 'Content-Type: application/json' -H 'Accept: application/json, text/event-stream' \
			-d '{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-03-26","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}' "$url" | grep -o 'serverInfo' | head -1)
		other=$(curl -s -m 20 -o /dev/null -w '%{http_code}' -H 'Authorization: Bearer other' "$url")
		echo '{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s1","update":{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"tools: '"$got, other: $other"'."}}}}'
		answer='{"stopReason":"end_turn"}' ;;
	*) continue ;;
	esac
	echo '{"jsonrpc":"2.0","id":'"$id"',"result":'"$answer}"
done
`

// An agent in a machine's sandbox uses the hub's tools only with its session's token.
func TestAgentOnMachineReachesTheHubsTools(t *testing.T) {
	if _, err := exec.LookPath("curl"); err != nil {
		t.Skip("there is no curl")
	}
	t.Parallel()
	prog := Start(t, Options{})
	p := OpenBrowser(t).Page()
	p.SignIn(prog)
	p.Open(prog.URL + "/machines")
	Eval[any](p, `document.querySelector('form[action="/machines/tokens"] button').click()`)
	p.Wait(`document.querySelector('#made')?.value.startsWith('ahphub join ')`)
	box := newMachine(t)
	box.install("opencode", toolUser)
	dir := filepath.Join(box.home, "src")
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	box.join(append(strings.Fields(Eval[string](p, `document.querySelector('#made').value`))[2:], "--name", "box2")...)
	p.Wait(card("box2", "Online"))
	const choice = `document.querySelector('.choice input[name=agent][value^="opencode+"]')`
	const there = `document.querySelector(".choice input[name=machine]:not([value='']):not(:disabled)")`
	for end := time.Now().Add(patience); ; { // until the hub knows the machine's current agents
		p.Open(prog.URL + "/new")
		if Eval[bool](p, there+` !== null`) {
			Eval[any](p, there+`.click()`)
			p.Wait(`document.querySelector('#dir').value === ` + strconv.Quote(box.home))
			if Eval[bool](p, choice+` !== null`) {
				break
			}
		}
		if time.Now().After(end) {
			t.Fatal("no agent of the machine is offered: ", Eval[string](p, `document.querySelector('main').innerText`))
		}
	}
	Eval[any](p, choice+`.click()`)
	p.Fill("#dir", dir)
	p.Fill("#message", "What are your tools?")
	p.Press("\r", chromedp.ModifierCtrl)
	p.Wait("location.pathname.startsWith('/s/')")
	p.Live()
	p.WaitText("#turns", "tools: serverInfo, other: 403.")
}
