package access

import (
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/ahphub/ahphub/hub"
	"github.com/ahphub/ahphub/hub/ahp"
)

var rewrite = flag.Bool("rewrite-matrix", false,
	"write testdata/rights.txt anew; read the difference before it is committed")

const matrixFile = "testdata/rights.txt"

// columns lists all kinds of principals: drivers with each single switch, and with all of them.
func columns() (names []string, who []Principal) {
	with := func(prompt, approve, typing bool) Principal {
		p := guest(RoleDriver)
		p.Prompt, p.Approve, p.Type = prompt, approve, typing
		return p
	}
	for _, c := range []struct {
		name string
		p    Principal
	}{{"nobody", Principal{}}, {"viewer", guest(RoleViewer)}, {"commenter", guest(RoleCommenter)},
		{"driver", with(false, false, false)},
		{"+prompt", with(true, false, false)}, {"+approve", with(false, true, false)},
		{"+type", with(false, false, true)},
		{"+all", with(true, true, true)}, {"agent", Agent("x", "X", mine)},
		{"member", Principal{ID: "person:1", Name: "Ben", Role: RoleMember}}, {"owner", Owner("")}} {
		names, who = append(names, c.name), append(who, c.p)
	}
	return names, who
}

// notifications lists what only hosts send, with the channel each is about: principals who see that
// channel get it.
var notifications = map[string]func(session ahp.URI) hub.ChannelInfo{
	"root/sessionAdded":          aboutSession,
	"root/sessionRemoved":        aboutSession,
	"root/sessionSummaryChanged": aboutSession,
	"root/progress":              aboutHost,
	"auth/required":              aboutHost,
	"otlp/exportLogs":            aboutTelemetry,
	"otlp/exportTraces":          aboutTelemetry,
	"otlp/exportMetrics":         aboutTelemetry,
}

func aboutSession(s ahp.URI) hub.ChannelInfo {
	return hub.ChannelInfo{URI: s, Kind: ahp.ChannelSession, Session: s}
}
func aboutHost(ahp.URI) hub.ChannelInfo { return hub.ChannelInfo{} }
func aboutTelemetry(ahp.URI) hub.ChannelInfo {
	return hub.ChannelInfo{URI: "ahp-otlp:/x", Kind: ahp.ChannelOtlp}
}

// matrix evaluates every request for every principal. A line is a request and a mark a column: "x"
// allowed in the guest's session, "X" in other sessions and on the host too, "." refused.
func matrix() string {
	names, who := columns()
	var out strings.Builder
	line := func(kind, what string, may func(p Principal, here bool) bool) {
		fmt.Fprintf(&out, "%-12s %-48s", kind, what)
		for i, p := range who {
			mark := "."
			if may(p, true) {
				mark = "x"
			}
			if may(p, false) {
				mark = map[string]string{"x": "X", ".": "!"}[mark]
			}
			fmt.Fprintf(&out, " %*s", len(names[i]), mark)
		}
		out.WriteByte('\n')
	}
	fmt.Fprintf(&out, "%-12s %-48s %s\n", "#", "", strings.Join(names, " "))
	there := func(here bool) hub.ChannelInfo {
		if here {
			return myChat
		}
		return other
	}
	for _, a := range sorted(actionRights) {
		line("action", a, func(p Principal, here bool) bool { return MayAct(p, a, there(here)) == nil })
	}
	for _, m := range sorted(methodRights) {
		line("method", m, func(p Principal, here bool) bool { return MayCall(p, m, there(here)) == nil })
	}
	for _, m := range sorted(methodRights) {
		line("host-method", m, func(p Principal, _ bool) bool { return MayCall(p, m, hub.ChannelInfo{}) == nil })
	}
	for _, n := range sorted(notifications) {
		line("notification", n, func(p Principal, here bool) bool {
			return p.IsKnown() && p.Audience().Sees(notifications[n](there(here).Session))
		})
	}
	for _, r := range sorted(routeRights) {
		line("route", r, func(p Principal, here bool) bool {
			return MayVisit(p, r) == nil && (here || p.Role == RoleOwner) // the middleware keeps guests to {session}
		})
	}
	for _, r := range sorted(socketRights) {
		line("socket", r, func(p Principal, here bool) bool {
			return MayConnect(p, r) == nil && (here || p.Role == RoleOwner) // each method asks for its channels
		})
	}
	for _, r := range Rooms() {
		line("room", r, func(p Principal, here bool) bool {
			return MayFollow(p, r) == nil && (here || p.Role == RoleOwner) // a room asks for its channels
		})
	}
	return out.String()
}

func sorted[V any](m map[string]V) []string {
	keys := []string{}
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}

// The product of all principals and all requests is recorded in a reviewed file. A row that is
// missing, new, or different fails.
func TestRightsMatrix(t *testing.T) { compareWith(t, matrixFile, matrix()) }

// compareWith compares line by line with a file of decisions, or rewrites it.
func compareWith(t *testing.T, file, got string) {
	t.Helper()
	if *rewrite {
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	kept := strings.Split(string(want), "\n")
	for _, l := range strings.Split(got, "\n") {
		if !slices.Contains(kept, l) {
			t.Errorf("not decided like this in %s:\n%s", file, l)
		}
	}
	now := strings.Split(got, "\n")
	for _, l := range kept {
		if !slices.Contains(now, l) {
			t.Errorf("%s has, and the tables do not:\n%s", file, l)
		}
	}
}

// The protocol's notifications are recognized by their types in hub/ahp.
func TestEveryNotificationHasARow(t *testing.T) {
	if len(notifications) != len(hostSends) {
		t.Errorf("%d kinds of notification are known, %d stand in the matrix", len(hostSends), len(notifications))
	}
}

// These rules hold whatever the file says.
func TestGuestsCannotLeaveTheirSession(t *testing.T) {
	names, _ := columns()
	for _, l := range strings.Split(matrix(), "\n")[1:] {
		f := strings.Fields(l)
		if len(f) < len(names) {
			continue
		}
		marks := f[len(f)-len(names):]
		if marks[0] != "." {
			t.Errorf("somebody unknown may: %s", l)
		}
		for i, m := range marks[1 : len(marks)-1] {
			// resourceRequest asks the owner
			hostwide := f[0] == "host-method" && (methodRights[f[1]].need == RightRead || f[1] == "resourceRequest")
			if m != "." && m != "x" && !hostwide {
				t.Errorf("a %s reaches another session: %s", names[i+1], l)
			}
		}
	}
}
