package acp

import (
	"bytes"
	"context"
	"log/slog"
	"slices"
	"strings"
	"testing"

	"github.com/ahphub/ahphub/hub/agent"
	"github.com/ahphub/ahphub/hub/redact"
)

func TestSecretsReachAgentsProgramAndNoLog(t *testing.T) {
	const value = "s3cret=value/0123"
	spec := agent.Spec{Secrets: func(context.Context) ([]string, error) { return []string{"TOKEN=" + value}, nil },
		Hide: redact.New([]redact.Secret{{Name: "TOKEN", Value: value}}).String}
	prog, err := addSecrets(t.Context(), Program{Env: map[string]string{"TOKEN": "configured", "OTHER": "1"}}, spec)
	if err != nil {
		t.Fatal(err)
	}
	if env := environment(nil, prog, "/bin"); !slices.Equal(env, []string{"OTHER=1", "TOKEN=" + value}) {
		t.Errorf("the program has %q", env)
	}
	var log bytes.Buffer
	w := &lastWords{log: slog.New(slog.NewTextHandler(&log, nil)), hide: prog.hide}
	text := "cannot sign in with " + value + "\n"
	if n, err := w.Write([]byte(text)); n != len(text) || err != nil {
		t.Error(n, err)
	}
	for where, said := range map[string]string{"the log": log.String(), "the error": w.String()} {
		if strings.Contains(said, value) || !strings.Contains(said, "[secret TOKEN]") {
			t.Errorf("%s is %q", where, said)
		}
	}
}
