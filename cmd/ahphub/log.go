package main

import (
	"io"
	"log/slog"
)

var logLevels = map[string]slog.Level{
	"debug": slog.LevelDebug, "info": slog.LevelInfo, "warn": slog.LevelWarn, "error": slog.LevelError,
}

// newLog writes records of at least level to w, with texts redacted by hide, and passes all records
// to others, which have their own levels.
func newLog(w io.Writer, format, level string, hide func(string) string, others ...slog.Handler) *slog.Logger {
	opts := &slog.HandlerOptions{Level: logLevels[level], ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
		if err, ok := a.Value.Any().(error); ok {
			a.Value = slog.StringValue(err.Error())
		}
		if a.Value.Kind() == slog.KindString {
			a.Value = slog.StringValue(hide(a.Value.String()))
		}
		return a
	}}
	var own slog.Handler = slog.NewTextHandler(w, opts)
	if format == "json" {
		own = slog.NewJSONHandler(w, opts)
	}
	return slog.New(slog.NewMultiHandler(append([]slog.Handler{own}, others...)...))
}
