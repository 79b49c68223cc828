package live

import (
	"net/url"
	"strconv"
	"strings"
)

// mark names the frame of a room that a page was rendered at.
type mark struct {
	room, epoch string
	n           int64
}

func (m mark) String() string { return m.room + "~" + m.epoch + "~" + strconv.FormatInt(m.n, 10) }

func parseMark(s string) (mark, error) {
	parts := strings.Split(s, "~")
	if len(parts) != 3 {
		return mark{}, ErrBadMark
	}
	n, err := strconv.ParseInt(parts[2], 10, 64)
	if err != nil {
		return mark{}, ErrBadMark
	}
	return mark{parts[0], parts[1], n}, nil
}

// Query returns the query of a stream's address for marks; empty ones are left out.
func Query(marks ...string) string {
	q := url.Values{}
	for _, m := range marks {
		if m != "" {
			q.Add("f", m)
		}
	}
	return q.Encode()
}

// AddToQuery adds marks to a query of a stream's address.
func AddToQuery(query string, marks ...string) string { return query + "&" + Query(marks...) }
