package script

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/ahphub/ahphub/hub/agent"
	"github.com/ahphub/ahphub/hub/ahp"
	"github.com/ahphub/ahphub/hub/ids"
)

// maxEdit bounds the size of an edited file.
const maxEdit = 16 << 20

// edit changes a real file after approval: it appends a line, or replaces the content. It cannot
// leave the session's first directory, not even by a symbolic link.
func (p player) edit(ctx context.Context, s Step) error {
	id := ids.New()
	if err := p.turn.Out.Emit(&ahp.ChatToolCallStartAction{ToolCallID: id, ToolName: "edit",
		DisplayName: "Edit file"}); err != nil {
		return err
	}
	name := agent.Code(s.Edit)
	ready := &ahp.ChatToolCallReadyAction{ToolCallID: id, InvocationMessage: ahp.Markdown("Edit " + name),
		ToolInput: &ahp.ToolInput{Text: s.Text}}
	if s.Unasked {
		ready.Confirmed = ahp.ToolCallConfirmationReasonNotNeeded
	} else {
		ready.ConfirmationTitle, ready.Options = ahp.Ptr(ahp.Plain("Change this file?")), agent.Options()
		if e, err := p.planEdit(s); err == nil { // otherwise the change itself reports the error
			ready.Edits = &ahp.FileEditCollection{Items: []ahp.FileEdit{e}}
		}
	}
	answer, err := p.turn.Out.Confirm(ctx, ready)
	if err != nil {
		return err
	}
	if !answer.Approved {
		return agent.Say(p.turn.Out, "The edit was denied.")
	}
	result := ahp.ToolCallResult{Success: true, PastTenseMessage: ahp.Markdown("Edited " + name)}
	if content, err := p.change(s); err != nil {
		result.Success, result.PastTenseMessage = false, ahp.Markdown("Could not edit "+name)
		result.Error = &ahp.ToolCallError{Message: err.Error()}
	} else {
		result.Content = agent.Results(content)
	}
	return p.turn.Out.Emit(&ahp.ChatToolCallCompleteAction{ToolCallID: id, Result: result})
}

func (p player) root() (*os.Root, error) {
	if len(p.spec.Dirs) == 0 {
		return nil, errors.New("this session has no directory")
	}
	return os.OpenRoot(p.spec.Dirs[0])
}

// planEdit returns the edit that the change would make.
func (p player) planEdit(s Step) (ahp.FileEdit, error) {
	root, err := p.root()
	if err != nil {
		return ahp.FileEdit{}, err
	}
	defer root.Close()
	name := path.Clean(filepath.ToSlash(s.Edit))
	before, err := read(root, name)
	if err != nil {
		return ahp.FileEdit{}, err
	}
	return p.editOf(name, before, applyEdit(before, s)), nil
}

func (p player) editOf(name string, before, after []byte) ahp.FileEdit {
	e := agent.EditOf(p.spec.Host, filepath.Join(p.spec.Dirs[0], name), before, after)
	added, removed := lineStats(before, after)
	e.Diff = &ahp.FileEditDiffStats{Added: &added, Removed: &removed}
	return e
}

func (p player) change(s Step) (*ahp.ToolResultFileEditContent, error) {
	root, err := p.root()
	if err != nil {
		return nil, err
	}
	defer root.Close()
	name := path.Clean(filepath.ToSlash(s.Edit))
	before, err := read(root, name)
	if err != nil {
		return nil, err
	}
	after := applyEdit(before, s)
	if err := root.MkdirAll(path.Dir(name), 0o755); err != nil {
		return nil, err
	}
	if err := root.WriteFile(name, after, 0o644); err != nil {
		return nil, err
	}
	e := p.editOf(name, before, after)
	return &ahp.ToolResultFileEditContent{Before: e.Before, After: e.After, Diff: e.Diff}, nil
}

func read(root *os.Root, name string) ([]byte, error) {
	fi, err := root.Stat(name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, nil
	case err != nil:
		return nil, err
	case fi.IsDir():
		return nil, errors.New("this is a directory")
	case fi.Size() > maxEdit:
		return nil, errors.New("this file is too large to edit")
	}
	return root.ReadFile(name)
}

func applyEdit(before []byte, s Step) []byte {
	line := strings.TrimSuffix(s.Text, "\n") + "\n"
	if s.Replace {
		return []byte(line)
	}
	if len(before) > 0 && !bytes.HasSuffix(before, []byte("\n")) {
		line = "\n" + line
	}
	return append(bytes.Clone(before), line...)
}

// lineStats counts the lines that differ between the common start and end.
func lineStats(before, after []byte) (added, removed int64) {
	a, b := splitLines(before), splitLines(after)
	for len(a) > 0 && len(b) > 0 && bytes.Equal(a[0], b[0]) {
		a, b = a[1:], b[1:]
	}
	for len(a) > 0 && len(b) > 0 && bytes.Equal(a[len(a)-1], b[len(b)-1]) {
		a, b = a[:len(a)-1], b[:len(b)-1]
	}
	return int64(len(b)), int64(len(a))
}

func splitLines(b []byte) [][]byte {
	lines := bytes.SplitAfter(b, []byte("\n"))
	if n := len(lines); n > 0 && len(lines[n-1]) == 0 {
		lines = lines[:n-1]
	}
	return lines
}
