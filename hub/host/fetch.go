package host

import (
	"context"
	"encoding/base64"
	"fmt"
	"slices"

	"github.com/ahphub/ahphub/hub/ahp"
	"github.com/ahphub/ahphub/hub/host/files"
	"github.com/ahphub/ahphub/hub/texts"
)

const (
	mostFetched      = 32       // files of one message read from its client
	mostFetchedBytes = 16 << 20 // total size of these files
)

// fetch reads a message's files from its client and embeds them for the agent. Errors are reported
// to the agent in place of the file, and to people by tell.
func (l *sessionRuntime) fetch(ctx context.Context, m ahp.Message, tell func(string)) ahp.Message {
	if !files.AttachesOfClient(&m) {
		return m
	}
	by, room, left := files.PublisherOf(m), mostFetchedBytes, mostFetched
	m.Attachments = slices.Clone(m.Attachments)
	for i, a := range m.Attachments {
		v, ok := a.Value.(*ahp.MessageResourceAttachment)
		if !ok || !ahp.OfClient(v.URI) {
			continue
		}
		data, mediaType, err := l.fetchOne(ctx, by, v, room, left)
		left--
		if err != nil {
			why := fmt.Sprintf("%s could not be read: %v", fetchedLabel(v), err)
			tell(why)
			m.Attachments[i].Value = &ahp.SimpleMessageAttachment{Label: v.Label, DisplayKind: v.DisplayKind,
				Meta: v.Meta, ModelRepresentation: why}
			continue
		}
		room -= len(data)
		m.Attachments[i].Value = &ahp.MessageEmbeddedResourceAttachment{Label: fetchedLabel(v),
			DisplayKind: v.DisplayKind, Meta: v.Meta, Data: base64.StdEncoding.EncodeToString(data),
			ContentType: mediaType, Selection: v.Selection}
	}
	return m
}

func (l *sessionRuntime) fetchOne(ctx context.Context, by files.Publisher, v *ahp.MessageResourceAttachment, room,
	left int) ([]byte, string, error) {
	switch {
	case left <= 0:
		return nil, "", fmt.Errorf("at most %d files of a message can be read from its client", mostFetched)
	case v.SizeHint != nil && *v.SizeHint > int64(room):
		return nil, "", errFetchedTooMuch
	}
	data, mediaType, err := l.h.Files.ReadFromClient(ctx, by, v.URI)
	if err == nil && len(data) > room {
		err = errFetchedTooMuch
	}
	if v.ContentType != "" {
		mediaType = v.ContentType
	}
	return data, mediaType, err
}

var errFetchedTooMuch = fmt.Errorf("the files that a message takes from its client can have %d MB in total",
	mostFetchedBytes>>20)

func fetchedLabel(v *ahp.MessageResourceAttachment) string {
	if v.Label != "" {
		return v.Label
	}
	return texts.CutBytes(v.URI, 100)
}

// notice shows a text to people in a turn.
func (o *out) notice(text string) {
	part := ahp.ResponsePart{Value: &ahp.SystemNotificationResponsePart{Content: ahp.Plain(text)}}
	_ = o.Emit(&ahp.ChatResponsePartAction{Part: part}) // fails if the turn has ended
}
