package usage

import (
	"encoding/csv"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/ahphub/ahphub/hub/access"
)

// Export serves GET /usage.csv?range=: one line per day, person, session, agent and currency.
func (p *Pages) Export(w http.ResponseWriter, r *http.Request) error {
	who := access.FromContext(r.Context())
	span := spanOf(r.FormValue("range"), p.Now())
	w.Header().Set("Content-Type", "text/csv; charset=utf-8")
	w.Header().Set("Content-Disposition", `attachment; filename="ahphub-usage-`+span.from+`-`+span.to+`.csv"`)
	out := csv.NewWriter(w)
	lines := [][]string{{"day", "person", "name", "session", "title", "agent", "turns", "input_tokens", "output_tokens",
		"cache_read_tokens", "cost", "currency"}}
	titles := p.titles(who)
	for _, row := range p.ledger.Rows(span.from, span.to, p.personOf(who)) {
		title, _ := titles.of(row.Session)
		line := []string{row.Day, cell(row.Person), cell(nameOf(row)), cell(row.Session), cell(title), cell(row.Agent),
			whole(row.Turns), whole(row.Input), whole(row.Output), whole(row.CacheRead), "", ""}
		currencies := slices.Sorted(maps.Keys(row.Cost))
		for i, currency := range currencies {
			if i > 0 { // already counted in the first line
				line[6], line[7], line[8], line[9] = "0", "0", "0", "0"
			}
			line[10], line[11] = strconv.FormatFloat(row.Cost[currency], 'f', 6, 64), currency
			lines = append(lines, slices.Clone(line))
		}
		if len(currencies) == 0 {
			lines = append(lines, line)
		}
	}
	_ = out.WriteAll(lines) // the client may have disconnected
	return nil
}

func whole(n int64) string { return strconv.FormatInt(n, 10) }

// cell prevents a spreadsheet from evaluating a text as a formula: other people choose names and titles.
func cell(s string) string {
	if s != "" && strings.ContainsRune("=+-@\t\r", rune(s[0])) {
		return "'" + s
	}
	return s
}
