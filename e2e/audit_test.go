package e2e

import (
	"context"
	"database/sql"
	"encoding/json"
	"flag"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/url"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	_ "modernc.org/sqlite" // as the program left it

	"github.com/ahphub/ahphub/e2e/peer"
	"github.com/ahphub/ahphub/hub/ahp"
	"github.com/ahphub/ahphub/hub/host/core"
)

var auditKills = flag.Int("audit-kills", 1, "how often the program is killed while audited actions come in")

// killAfter is the maximum number of echoes before the program is killed.
const killAfter = 1500

// After kill -9 under load, every stored audited action has its entry, and every action's entry has
// its action. Calls with effects have entries too, and none is reported as under way.
func TestKillLeavesNoActionWithoutItsEntry(t *testing.T) {
	prog := Start(t, Options{Args: []string{"--agent", "script", "--log-level", "warn"}})
	c, _ := signIn(t, prog.SignIn())
	session := makeAuditedSession(t, prog)
	for round := range *auditKills {
		loadAndKill(t, prog, c, session, round)
		checkAudit(t, filepath.Join(prog.Data, "ahphub.db"), session)
		if out, err := prog.Command("doctor", "--deep", "--data", prog.Data); !strings.Contains(out,
			"audit: the hashes of") {
			t.Errorf("doctor: %v\n%s", err, out)
		}
		prog.Restart()
		_, log := get(t, c, prog.URL+"/audit.jsonl")
		if n := strings.Count(log, `"outcome":"underway"`); n != 1 { // the export itself
			t.Errorf("%d calls are said to be under way after a restart", n)
		}
	}
}

func makeAuditedSession(t *testing.T, prog *Program) ahp.URI {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	p, err := clientOf(t, ctx, prog, prog.Token(), "maker", nil)
	if err != nil {
		t.Fatal(err)
	}
	session := "ahp-session:/" + uuid.NewString()
	if err := p.Call(ctx, "createSession", &ahp.CreateSessionParams{Channel: session, Provider: "script"},
		nil); err != nil {
		t.Fatal(err)
	}
	return session
}

// loadAndKill has one client rename the session, 64 renames at a time, another one create
// terminals, and a page rename the session by its form, and kills the program at a random moment.
func loadAndKill(t *testing.T, prog *Program, c *http.Client, session ahp.URI, round int) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	slots, echoes, killed := make(chan struct{}, 64), 0, 1+rand.IntN(killAfter)
	var once sync.Once
	writer, err := peer.Dial(ctx, prog.AHP, peer.Options{Trust: true, Token: prog.Token(),
		ClientID: fmt.Sprint("writer-", round), OnFrame: func(f []byte) {
			if strings.Contains(string(f), `"session/titleChanged"`) && strings.Contains(string(f), `"clientSeq"`) {
				<-slots
				if echoes++; echoes == killed {
					go once.Do(prog.Kill9)
				}
			}
		}})
	if err != nil {
		t.Fatal(err)
	}
	defer writer.Close()
	if _, err := writer.Initialize(ctx, session); err != nil {
		t.Fatal(err)
	}
	maker, err := clientOf(t, ctx, prog, prog.Token(), fmt.Sprint("maker-", round), nil)
	if err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	ended := prog.exited
	wg.Go(func() {
		for i := 0; ; i++ {
			select {
			case slots <- struct{}{}:
			case <-ended:
				return
			}
			if _, err := writer.Dispatch(ctx, session, &ahp.SessionTitleChangedAction{Title: fmt.Sprintf("title %d.%d",
				round, i)}); err != nil {
				return
			}
		}
	})
	wg.Go(func() {
		for maker.Call(ctx, "createTerminal", &ahp.CreateTerminalParams{Channel: "ahp-terminal:/" + uuid.NewString(),
			Name: "made", Claim: ahp.TerminalClaim{Value: &ahp.TerminalSessionClaim{Session: session}}}, nil) == nil {
		}
	})
	wg.Go(func() {
		title := prog.URL + "/s/" + core.ShortID(session) + "/title"
		for i := 0; ; i++ {
			res, err := noRedirect(c).PostForm(title, url.Values{"title": {fmt.Sprint("by the form ", i)}})
			if err != nil {
				return
			}
			res.Body.Close()
		}
	})
	<-ended
	once.Do(func() {}) // waits for the goroutine that kills
	wg.Wait()
}

// checkAudit compares the journal with the audit in a killed program's data.
func checkAudit(t *testing.T, database string, session ahp.URI) {
	t.Helper()
	db, err := sql.Open("sqlite", "file:"+database+"?_pragma=query_only(1)")
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	entries, about := map[int64]bool{}, map[string]bool{}
	eachRow(t, db, "SELECT entry FROM audit ORDER BY n", func(scan func(...any) error) error {
		var raw []byte
		var e struct {
			Seq int64
			On  string
		}
		err := scan(&raw)
		if err == nil {
			err = json.Unmarshal(raw, &e)
		}
		if about[e.On] = true; e.Seq > 0 {
			entries[e.Seq] = true
		}
		return err
	})
	actions, floor := 0, int64(0)
	eachRow(t, db, "SELECT floor FROM channels WHERE uri='"+session+"'",
		func(scan func(...any) error) error { return scan(&floor) })
	journal := map[int64]bool{}
	eachRow(t, db, "SELECT seq, client IS NOT NULL, action FROM envelopes", func(scan func(...any) error) error {
		var seq int64
		var client bool
		var action []byte
		err := scan(&seq, &client, &action)
		journal[seq] = true
		if client && strings.Contains(string(action), `"session/titleChanged"`) {
			if actions++; !entries[seq] {
				t.Errorf("action %d has no entry: %s", seq, action)
			}
		}
		return err
	})
	for seq := range entries {
		if seq > floor && !journal[seq] {
			t.Errorf("the entry of action %d is without it", seq)
		}
	}
	terminals := 0
	eachRow(t, db, "SELECT uri FROM channels WHERE kind='terminal'", func(scan func(...any) error) error {
		var uri string
		err := scan(&uri)
		if terminals++; !about[uri] {
			t.Errorf("the terminal %s was made without an intent", uri)
		}
		return err
	})
	t.Logf("%d actions, %d entries of actions, %d terminals", actions, len(entries), terminals)
	if actions == 0 {
		t.Error("no action was journaled")
	}
}

func eachRow(t *testing.T, db *sql.DB, query string, visit func(scan func(...any) error) error) {
	t.Helper()
	rows, err := db.Query(query)
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	for rows.Next() {
		if err := visit(rows.Scan); err != nil {
			t.Fatal(err)
		}
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
}
