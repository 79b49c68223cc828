package acp

import (
	"context"
	"slices"
	"strings"

	"github.com/ahphub/ahphub/hub/agent"
	"github.com/ahphub/ahphub/hub/ahp"
)

var cancelled = permissionResult{permissionOutcome{Outcome: "cancelled"}}

// answer is a person's decision on a call; err is set when there was none.
type answer struct {
	call   *call
	answer *ahp.ChatToolCallConfirmedAction
	err    error
}

// ask shows a request for permission as a confirmation of its tool call. Repeated requests about
// one call are shown once.
func (r *player) ask(ctx context.Context, e event) error {
	at, err := r.at(ctx, e.ask.ToolCall.Meta)
	if err != nil {
		r.p.reply(e.from, cancelled)
		return err
	}
	c, err := r.learn(at, &e.ask.ToolCall.toolFields, e.ask.ToolCall.Content)
	if err != nil {
		r.p.reply(e.from, cancelled)
		return err
	}
	if c.todo {
		if err := r.begin(c); err != nil {
			r.p.reply(e.from, cancelled)
			return err
		}
	}
	if c.stage == over {
		r.p.reply(e.from, choose(e.ask.Options, nil))
		return nil
	}
	c.waiting = append(c.waiting, question{e.from, e.ask.Options})
	if c.stage == asking {
		return nil
	}
	c.stage = asking
	ready := r.ready(c)
	ready.ConfirmationTitle = ahp.Ptr(ahp.Plain(questions[c.kind]))
	ready.Options = options(e.ask.Options)
	ready.Edits = r.edits(c)
	r.wg.Go(func() {
		a, err := c.in.out.Confirm(ctx, ready)
		select {
		case r.answers <- answer{c, a, err}:
		case <-r.over:
			r.reply(c, nil)
		}
	})
	return nil
}

var questions = map[string]string{
	"read": "Allow reading this?", "edit": "Change this file?", "delete": "Delete this?", "move": "Move this?",
	"search": "Allow this search?", "execute": "Run this command?", "think": "Allow the agent to continue?",
	"fetch":       "Allow this request?",
	"switch_mode": "Allow mode change?", "other": "Allow this action?",
}

// options returns the program's options in its order; those that bind beyond this call are a
// separate group. An unknown kind counts as a denial.
func options(list []permissionOption) []ahp.ConfirmationOption {
	out := make([]ahp.ConfirmationOption, 0, len(list))
	for _, o := range list {
		kind := ahp.ConfirmationOptionKindDeny
		if allows(o) {
			kind = ahp.ConfirmationOptionKindApprove
		}
		out = append(out, ahp.ConfirmationOption{ID: o.OptionID, Label: nameOf(o.Name, o.OptionID), Kind: kind,
			Group: groupOf(o.Kind)})
	}
	if len(out) == 0 {
		return agent.Options()
	}
	return out
}

// groupOf returns 0 for options for this call alone and 1 for lasting ones.
func groupOf(kind string) *int64 {
	if strings.HasSuffix(kind, "_always") {
		return ahp.Ptr[int64](1)
	}
	return ahp.Ptr[int64](0)
}

func allows(o permissionOption) bool { return o.Kind == "allow_once" || o.Kind == "allow_always" }

func (r *player) edits(c *call) *ahp.FileEditCollection {
	var items []ahp.FileEdit
	for _, t := range c.raw {
		if t.Type == "diff" {
			e := r.editContent(c, t)
			items = append(items, ahp.FileEdit{Before: e.Before, After: e.After, Diff: e.Diff})
		}
	}
	if items == nil {
		return nil
	}
	return &ahp.FileEditCollection{Items: items}
}

// sendAnswer sends the answer to the program, and then emits what it reported about the call in the
// meantime.
func (r *player) sendAnswer(a answer) error {
	if a.err != nil || r.dropped {
		r.reply(a.call, nil)
		return a.call.in.spared(a.err)
	}
	r.reply(a.call, a.answer)
	if !a.answer.Approved {
		a.call.stage = over // the timeline has it as denied
		return nil
	}
	a.call.stage = running
	return r.advance(a.call)
}

func (r *player) reply(c *call, a *ahp.ChatToolCallConfirmedAction) {
	for _, q := range c.waiting {
		if a == nil {
			r.p.reply(q.from, cancelled)
		} else {
			r.p.reply(q.from, choose(q.options, a))
		}
	}
	c.waiting = nil
}

// choose returns the program's option for an answer: the one that was picked, or one of its kind,
// preferring the least binding. Without an answer it denies.
func choose(list []permissionOption, a *ahp.ChatToolCallConfirmedAction) permissionResult {
	kinds := []string{"reject_once", "reject_always"}
	if a != nil {
		if slices.ContainsFunc(list, func(o permissionOption) bool {
			return o.OptionID == a.SelectedOptionID &&
				allows(o) == a.Approved
		}) {
			return selected(a.SelectedOptionID)
		}
		if a.Approved {
			kinds = []string{"allow_once", "allow_always"}
		}
	}
	for _, kind := range kinds {
		for _, o := range list {
			if o.Kind == kind {
				return selected(o.OptionID)
			}
		}
	}
	return cancelled
}

func selected(id string) permissionResult {
	return permissionResult{permissionOutcome{Outcome: "selected", OptionID: id}}
}
