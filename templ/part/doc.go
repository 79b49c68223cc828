// Package part renders what several pages share: the layout, messages, tool calls, diffs, threads and Markdown. Live
// patches replace single parts of open pages, so each part can be rendered alone, with its own element id.
package part
