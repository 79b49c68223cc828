package notify

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"path"
	"strings"
)

// Format is the format of a webhook's messages.
type Format string

// The formats.
const (
	FormatSigned Format = ""      // a payload
	FormatSlack  Format = "slack" // an incoming webhook of Slack, also supported by Mattermost, Rocket.Chat and others
	FormatNtfy   Format = "ntfy"  // a message of ntfy, published as JSON
)

// Formats returns all formats, in the order of the page.
func Formats() []Format { return []Format{FormatSigned, FormatSlack, FormatNtfy} }

// check refuses an unknown format, and an address that does not fit it.
func (f Format) check(address string) error {
	switch f {
	case FormatSigned, FormatSlack:
		return nil
	case FormatNtfy:
		_, _, err := splitTopic(address)
		return err
	}
	return errors.New("choose a format: signed JSON, Slack or ntfy")
}

// encode returns the body for one notice and its target address.
func (f Format) encode(address string, p *payload) (target string, body []byte, err error) {
	target = address
	var message any = p
	switch f {
	case FormatSlack:
		message = map[string]string{"text": slackText(p)}
	case FormatNtfy:
		var topic string
		if target, topic, err = splitTopic(address); err != nil {
			return "", nil, err
		}
		message = ntfyMessage{Topic: topic, Title: p.Title + " · " + p.Session.Title, Message: ntfyText(p), Click: p.URL,
			Priority: ntfyPriority(p.Event)}
	}
	body, err = json.Marshal(message)
	return target, body, err
}

// slackEscape prevents texts of a session from mentioning channels or adding links.
var slackEscape = strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;")

func slackText(p *payload) string {
	text := fmt.Sprintf("*%s* · <%s|%s>", slackEscape.Replace(p.Title), slackEscape.Replace(p.URL),
		strings.ReplaceAll(slackEscape.Replace(p.Session.Title), "|", "/"))
	if by := personOf(p); by != "" {
		text += " · " + slackEscape.Replace(by)
	}
	if p.Text != "" {
		text += "\n" + slackEscape.Replace(p.Text)
	}
	return text
}

// ntfyMessage is a message in ntfy's JSON format.
type ntfyMessage struct {
	Topic    string `json:"topic"`
	Title    string `json:"title"`
	Message  string `json:"message"`
	Click    string `json:"click"`
	Priority int    `json:"priority"`
}

// splitTopic splits a topic's address into the server, which JSON is posted to, and the topic.
func splitTopic(address string) (server, topic string, err error) {
	u, err := url.Parse(address)
	if err != nil {
		return "", "", errors.New("the address cannot be read")
	}
	dir, topic := path.Split(strings.TrimSuffix(u.Path, "/"))
	if topic == "" {
		return "", "", errors.New("enter the address of a topic, as https://ntfy.sh/my-topic")
	}
	u.Path, u.RawPath = dir, ""
	return u.String(), topic, nil
}

// ntfyText returns a non-empty text, because ntfy would otherwise show "triggered".
func ntfyText(p *payload) string {
	switch by := personOf(p); {
	case p.Text == "" && by == "":
		return p.Session.Title
	case p.Text == "":
		return by
	case by == "":
		return p.Text
	default:
		return by + ": " + p.Text
	}
}

// ntfyPriority returns a high priority for notices that wait for a person.
func ntfyPriority(k Kind) int {
	if k == Approval || k == Question {
		return 4
	}
	return 3
}

func personOf(p *payload) string {
	if p.By == nil {
		return ""
	}
	return p.By.Name
}
