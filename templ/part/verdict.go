package part

import (
	"strconv"
	"strings"
	"time"
)

// Verdict is a reviewer's verdict on a session's changes.
type Verdict struct {
	By, ByID  string
	Kind      string // "approve", "changes" or "comment"
	Summary   string // Markdown
	At        time.Time
	Overtaken bool // the changes are newer than the verdict

	End     string // "", "withdrawn", "dismissed" or "replaced"
	EndBy   string // "" for the host
	EndAt   time.Time
	Changed []string // paths, if their changes ended it
	More    int
}

// Words describes the verdict, like "Ana approved".
func (v *Verdict) Words() string { return v.By + " " + v.verb() }

// VerdictWords returns the same as Words for a name and a kind.
func VerdictWords(by, kind string) string { return (&Verdict{By: by, Kind: kind}).Words() }

func (v *Verdict) verb() string {
	switch v.Kind {
	case "approve":
		return "approved"
	case "changes":
		if v.By == "You" {
			return "request changes"
		}
		return "requests changes"
	}
	return "commented"
}

func (v *Verdict) sign() string {
	switch v.Kind {
	case "approve":
		return "✓"
	case "changes":
		return "±"
	}
	return "●"
}

// class returns the CSS class for the color: the kind, or "ended".
func (v *Verdict) class() string {
	if v.End != "" {
		return "ended"
	}
	return v.Kind
}

// Ended describes how a verdict ended.
func (v *Verdict) Ended() string {
	switch v.End {
	case "withdrawn":
		n := len(v.Changed) + v.More
		switch n {
		case 0:
			return "cleared: the approved files changed"
		case 1:
			return "cleared: 1 file changed"
		}
		return "cleared: " + strconv.Itoa(n) + " files changed"
	case "dismissed":
		if v.EndBy == v.By {
			return "dismissed"
		}
		return "dismissed by " + v.EndBy
	case "replaced":
		return "replaced by a newer review"
	}
	return ""
}

func (v *Verdict) list() string {
	s := strings.Join(v.Changed, ", ")
	if v.More > 0 {
		s += " and " + strconv.Itoa(v.More) + " more"
	}
	return s
}

func (v *Verdict) title() string {
	s := v.Words()
	if v.Overtaken {
		s += "; the files have changed since"
	}
	if v.Summary != "" {
		s += ": " + v.Summary
	}
	return s
}
