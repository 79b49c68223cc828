package acp

import (
	"fmt"
	"regexp"
	"time"

	"github.com/ahphub/ahphub/hub/agent"
	"github.com/ahphub/ahphub/hub/ahp"
	"github.com/ahphub/ahphub/hub/texts"
)

const (
	mostSilentLines = 5   // of what the program logged
	mostSilentLine  = 300 // bytes of each
)

// silence reports in the chat that a program has sent nothing for a while: some retry requests to
// their model silently. It ends with the next event.
type silence struct {
	r     *player
	timer *time.Timer
	since time.Duration // the reported duration; 0: none
}

func newSilence(r *player) *silence {
	return &silence{r: r, timer: time.NewTimer(r.s.limits.Silent)}
}

// end removes the report, because the program sent something.
func (q *silence) end() error {
	q.timer.Reset(q.r.s.limits.Silent)
	if q.since == 0 {
		return nil
	}
	q.since = 0
	q.r.s.spec.Host.Learn(agent.Offer{Chat: q.r.turn.Chat, Logged: &agent.Logged{}})
	return q.r.main.emit(&ahp.ChatActivityChangedAction{})
}

// tell reports how long the program has been silent, unless it waits for a person or runs a tool.
func (q *silence) tell() error {
	r, first := q.r, q.r.s.limits.Silent
	if r.isOccupied() {
		q.timer.Reset(first)
		return nil
	}
	step := first / 2
	if q.since >= 2*time.Minute {
		step = time.Minute
	}
	if q.since == 0 {
		step = first
	}
	q.since += step
	q.timer.Reset(max(first/2, min(step, time.Minute)))
	r.s.spec.Host.Learn(agent.Offer{Chat: r.turn.Chat, Logged: &agent.Logged{Lines: r.p.proc.lastLines()}})
	return r.main.emit(&ahp.ChatActivityChangedAction{Activity: agent.NoAnswerFor + describeSilence(q.since)})
}

// isOccupied reports whether the turn waits for something other than the program.
func (r *player) isOccupied() bool {
	if r.asked.Load() > 0 {
		return true
	}
	for _, c := range r.calls {
		if c.stage == asking || c.stage == running {
			return true
		}
	}
	return false
}

func describeSilence(d time.Duration) string {
	if d < 2*time.Minute {
		return fmt.Sprintf("%d s", int(d.Round(time.Second).Seconds()))
	}
	return fmt.Sprintf("%d min", int(d.Minutes()))
}

// credentials matches likely credentials, in its second group: a session's own secrets are hidden
// before, but programs have others.
var credentials = regexp.MustCompile(`(?i)((?:authorization|bearer|basic|token|api[-_ ]?key|secret|passw(?:or)?d|cookie)` +
	`["']?\s*[:= ]\s*["']?(?:bearer |basic )?|://[^/\s:@]*:|\b(?:sk|pk|rk|ghp|gho|ghs|github_pat|glpat|xox[bp]|AKIA|AIza)[-_]?)` +
	`([^\s"'@,;]{6,})`)

// lastLines returns the last readable lines of what the program logged, without credentials.
func (p *process) lastLines() []string {
	lines := cleanLines(p.words.String())
	return lines[max(0, len(lines)-mostSilentLines):]
}

func hideCredentials(line string) string { return credentials.ReplaceAllString(line, "$1•••") }

func boundLine(line string) string { return texts.ElideBytes(hideCredentials(line), mostSilentLine) }
