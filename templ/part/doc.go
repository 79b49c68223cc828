// Package part draws what several pages share: the layout, messages, tool calls, diffs, threads and Markdown. Live
// patches replace single parts of an open page, so each part is drawn alone as well, under its own element id.
package part
