package main

import (
	"os"
	"path/filepath"

	"github.com/ahphub/ahphub/hub/agent/acp"
	"github.com/ahphub/ahphub/hub/ahp"
	"github.com/ahphub/ahphub/hub/host/core"
	"github.com/ahphub/ahphub/web"
)

// metrics returns the metrics, which are read on request.
func (a *app) metrics() []web.Metric {
	return []web.Metric{
		{Name: "ahphub_server_seq", Help: "The latest serverSeq of the timeline.",
			Read: func() float64 { return float64(a.hub.Seq()) }},
		{Name: "ahphub_sessions", Help: "Sessions, without deleted ones.",
			Read: func() float64 { return float64(len(a.summaries())) }},
		{Name: "ahphub_sessions_running", Help: "Sessions with a running turn.",
			Read: func() float64 { return a.countSessions(ahp.SessionStatusInProgress) }},
		{Name: "ahphub_sessions_waiting", Help: "Sessions with a turn that waits for a person.",
			Read: func() float64 { return a.countSessions(ahp.SessionStatusInputNeeded) }},
		{Name: "ahphub_read_only", Help: "1 while the server accepts no changes, as on a full disk.", Read: func() float64 {
			if a.hub.ReadOnly() != nil {
				return 1
			}
			return 0
		}},
		{Name: "ahphub_sockets", Help: "Open sockets of AHP clients.",
			Read: func() float64 { return float64(a.rpc.Sockets()) }},
		{Name: "ahphub_pages", Help: "Open live pages.",
			Read: func() float64 { return float64(a.pages.Live.Pages()) }},
		{Name: "ahphub_agent_programs", Help: "Running programs of agents on this computer.",
			Read: func() float64 { return float64(acp.Programs()) }},
		{Name: "ahphub_last_backup_timestamp_seconds", Help: "When ahphub backup last copied the database; 0 is never.",
			Read: func() float64 { return readLastBackup(a.cfg.Data) }},
		{Name: "ahphub_notifications_waiting", Help: "Notifications that are not delivered yet.",
			Read: func() float64 { return float64(a.notify.Waiting()) }},
		{Name: "ahphub_page_renders_total", Help: "Drawings of live pages.", Counter: true,
			Read: func() float64 { return float64(a.pages.Renders()) }},
		{Name: "ahphub_people_present", Help: "People with an open page.",
			Read: func() float64 { return float64(a.pages.Presence.Count()) }},
		{Name: "ahphub_database_bytes", Help: "Size of the database with its log.", Read: func() float64 {
			return fileSize(filepath.Join(a.cfg.Data, "ahphub.db")) + fileSize(filepath.Join(a.cfg.Data, "ahphub.db-wal"))
		}},
	}
}

func (a *app) summaries() []ahp.SessionSummary {
	return a.host.Summaries(core.Caller{Principal: a.owner})
}

// countSessions counts the sessions whose status has all bits of status.
func (a *app) countSessions(status ahp.SessionStatus) float64 {
	n := 0
	for _, s := range a.summaries() {
		if s.Status.Has(status) {
			n++
		}
	}
	return float64(n)
}

func fileSize(path string) float64 {
	info, err := os.Stat(path)
	if err != nil {
		return 0
	}
	return float64(info.Size())
}
