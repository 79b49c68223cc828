package mcp

import (
	"cmp"
	"encoding/base64"
	"encoding/json"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/ahphub/ahphub/hub/ahp"
)

const mostData = 4 << 20 // bytes of pictures and other data in one result

// result converts the result of a client's tool for a model.
func (n *session) result(r ahp.ToolCallResult) *mcp.CallToolResult {
	out := &mcp.CallToolResult{IsError: !r.Success, Content: []mcp.Content{}}
	text, data := n.s.cfg.Limits.Output, mostData
	if r.Error != nil {
		out.Content = append(out.Content, &mcp.TextContent{Text: cut(sentence(r.Error.Message), text)})
	}
	for _, c := range r.Content {
		if v := content(c.Value, &text, &data); v != nil {
			out.Content = append(out.Content, v)
		}
	}
	if r.StructuredContent != nil {
		out.StructuredContent = r.StructuredContent
	}
	if len(out.Content) == 0 {
		out.Content = append(out.Content, &mcp.TextContent{Text: cut(plain(r), text)})
	}
	return out
}

// plain returns a result without content: its structured part as JSON, or its message.
func plain(r ahp.ToolCallResult) string {
	if raw, err := json.Marshal(r.StructuredContent); err == nil && r.StructuredContent != nil {
		return string(raw)
	}
	return cmp.Or(r.PastTenseMessage.Text, "Done.")
}

// content converts one piece, while the limits allow it.
func content(v ahp.ToolResultContentValue, text, data *int) mcp.Content {
	switch v := v.(type) {
	case *ahp.ToolResultTextContent:
		if *text <= 0 {
			return nil
		}
		s := cut(v.Text, *text)
		*text -= len(s)
		return &mcp.TextContent{Text: s}
	case *ahp.ToolResultEmbeddedResourceContent:
		raw, err := base64.StdEncoding.DecodeString(v.Data)
		if *data -= len(raw); err != nil || *data < 0 {
			return &mcp.TextContent{Text: "(content of type " + v.ContentType + " that is too large or cannot be read)"}
		}
		return embeddedContent(v.ContentType, raw)
	case *ahp.ToolResultResourceContent:
		return &mcp.ResourceLink{URI: v.URI, Name: v.URI, MIMEType: v.ContentType, Size: v.SizeHint}
	case *ahp.ToolResultFileEditContent:
		return &mcp.TextContent{Text: "Edited " + editText(v) + "."}
	}
	return nil // terminals and chats belong to the host: agents cannot follow them
}

func embeddedContent(kind string, raw []byte) mcp.Content {
	switch {
	case strings.HasPrefix(kind, "image/"):
		return &mcp.ImageContent{MIMEType: kind, Data: raw}
	case strings.HasPrefix(kind, "audio/"):
		return &mcp.AudioContent{MIMEType: kind, Data: raw}
	}
	return &mcp.EmbeddedResource{Resource: &mcp.ResourceContents{URI: "ahphub:/result", MIMEType: kind, Blob: raw}}
}

func editText(v *ahp.ToolResultFileEditContent) string {
	switch {
	case v.After != nil:
		return v.After.URI
	case v.Before != nil:
		return v.Before.URI
	}
	return "a file"
}
