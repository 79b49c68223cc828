package core

import (
	"cmp"
	"time"
)

// Limits bounds what principals and agents may use. Zero fields get the stated defaults.
type Limits struct {
	Sessions           int           // not counting disposed ones: 10 000
	Trash              int           // disposed sessions kept for an undo: 100
	Chats              int           // per session: 64
	ChatDepth          int           // of chats spawned by tools: 3 (AHP requirement 97)
	Queue              int           // queued messages per chat: 64
	MessageBytes       int           // text and attachments of one message: 1 MiB
	TurnBytes          int           // text of an agent in one turn: 64 MiB
	ChatBytes          int           // text of a chat, above which it accepts no turns: 256 MiB
	Folders            int           // directories watched per session: 32 768; larger sessions are polled
	Threads            int           // annotations per session: 2000, with 500 entries each
	ClientGrace        time.Duration // how long an active client may stay disconnected: 30 s (AHP requirement 138)
	ClientTool         time.Duration // timeout of a tool call by a client: 5 min (AHP requirement 143)
	Automations        int           // 200
	AutomationRuns     int           // ended runs kept per automation: 100
	AutomationsAtOnce  int           // concurrent runs of all automations: 8
	AutomationInterval time.Duration // minimum time between two occurrences of a schedule: 5 min

	TerminalGrace time.Duration // between the signals that terminate a terminal's program: 1 s

	Idle time.Duration // time without subscribers and turns before a session is unloaded: 10 min
	Stop time.Duration // how long agents may take to stop at shutdown: 4 s
}

func (l Limits) withDefaults() Limits {
	l.Sessions = cmp.Or(l.Sessions, 10_000)
	l.Trash = cmp.Or(l.Trash, 100)
	l.Chats = cmp.Or(l.Chats, 64)
	l.ChatDepth = cmp.Or(l.ChatDepth, 3)
	l.Queue = cmp.Or(l.Queue, 64)
	l.MessageBytes = cmp.Or(l.MessageBytes, 1<<20)
	l.TurnBytes = cmp.Or(l.TurnBytes, 64<<20)
	l.ChatBytes = cmp.Or(l.ChatBytes, 256<<20)
	l.Folders = cmp.Or(l.Folders, 32_768)
	l.Threads = cmp.Or(l.Threads, 2000)
	l.ClientGrace = cmp.Or(l.ClientGrace, 30*time.Second)
	l.ClientTool = cmp.Or(l.ClientTool, 5*time.Minute)
	l.Automations = cmp.Or(l.Automations, 200)
	l.AutomationRuns = cmp.Or(l.AutomationRuns, 100)
	l.AutomationsAtOnce = cmp.Or(l.AutomationsAtOnce, 8)
	l.AutomationInterval = cmp.Or(l.AutomationInterval, 5*time.Minute)
	l.TerminalGrace = cmp.Or(l.TerminalGrace, time.Second)
	l.Idle = cmp.Or(l.Idle, 10*time.Minute)
	l.Stop = cmp.Or(l.Stop, 4*time.Second)
	return l
}
