package chat

import (
	"net/http"
	"slices"
	"strings"

	"github.com/ahphub/ahphub/hub/ahp"
	"github.com/ahphub/ahphub/hub/ids"
)

// A message has a key from its form or from the script. If the answer is lost and the client resends the
// message, the key prevents a duplicate.

const (
	longestKey = 64
	keyChars   = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-"
)

// messageKey returns the key of a message's form; "" when it has none.
func messageKey(r *http.Request) string {
	key := r.PostForm.Get("key")
	if len(key) > longestKey || strings.Trim(key, keyChars) != "" {
		return ""
	}
	return key
}

// isSaid reports whether a chat already has a message with this key and text.
func isSaid(c *ahp.ChatState, key, text string) bool {
	if key == "" {
		return false
	}
	same := func(id string, m ahp.Message) bool { return id == key && m.Text == text }
	pending := func(m ahp.PendingMessage) bool { return same(m.ID, m.Message) }
	return c.ActiveTurn != nil && same(c.ActiveTurn.ID, c.ActiveTurn.Message) ||
		c.SteeringMessage != nil && pending(*c.SteeringMessage) || slices.ContainsFunc(c.QueuedMessages, pending) ||
		slices.ContainsFunc(c.Turns, func(t *ahp.Turn) bool { return same(t.ID, t.Message) })
}

// newID returns the key as the id of a turn or queued message, or a new id if that is taken.
func newID(c *ahp.ChatState, key string) string {
	pending := func(m ahp.PendingMessage) bool { return m.ID == key }
	if key == "" || c.ActiveTurn != nil && c.ActiveTurn.ID == key ||
		c.SteeringMessage != nil && pending(*c.SteeringMessage) || slices.ContainsFunc(c.QueuedMessages, pending) ||
		turnIndex(c, key) >= 0 {
		return ids.New()
	}
	return key
}
