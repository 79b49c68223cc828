package changes

import (
	"context"
	"errors"
	"slices"

	"github.com/ahphub/ahphub/hub"
	"github.com/ahphub/ahphub/hub/ahp"
	"github.com/ahphub/ahphub/hub/host/core"
	"github.com/ahphub/ahphub/hub/machine"
)

// chatKinds are the changesets of a chat with its own directories.
var chatKinds = []string{kindSession, kindUncommitted, kindBranch}

// ChatURI returns the URI of a changeset of a chat's own directories. kind is session, uncommitted
// or branch.
func ChatURI(session, chat ahp.URI, kind string) ahp.URI {
	return changesetScheme + core.ShortID(session) + "/chat/" + core.ShortID(chat) + "/" + kind
}

// ChatCatalogue returns the changesets of a chat, or nil if it has no own directories. Turns and
// comparisons have the same URIs as in the session.
func (p *Part) ChatCatalogue(session, chat ahp.URI, dirs []ahp.URI) []ahp.Changeset {
	if len(dirs) == 0 {
		return nil
	}
	list := p.Catalogue(session)
	for i, kind := range chatKinds {
		list[i].URITemplate = ChatURI(session, chat, kind)
	}
	list[0].Label, list[0].Description = "Chat",
		"All changes in this chat's directories since the session began"
	list[1].Description += ", in this chat's directories"
	list[2].Description += ", in this chat's directories"
	return list
}

// CompleteCatalogue adds changesets that the host did not know when it stored a session or chat.
func (p *Part) CompleteCatalogue(uri ahp.URI, st ahp.State) {
	var add ahp.Action
	info, _ := p.core.Hub.Info(uri)
	switch s := st.(type) {
	case *ahp.SessionState:
		if list, some := withMissing(s.Changesets, p.Catalogue(uri)); some {
			add = &ahp.SessionChangesetsChangedAction{Changesets: list}
		}
	case *ahp.ChatState:
		if list, some := withMissing(s.Changesets, p.ChatCatalogue(info.Session, uri, s.WorkingDirectories)); some {
			add = &ahp.ChatChangesetsChangedAction{Changesets: list}
		}
	}
	if add == nil {
		return
	}
	err := p.core.Hub.Do(func(tx *hub.Tx) {
		if _, open := tx.Info(uri); open {
			tx.Apply(uri, add)
		}
	})
	if err != nil && !errors.Is(err, hub.ErrReadOnly) {
		p.core.Log.Warn("changesets are not offered", "channel", uri, "err", err)
	}
}

// withMissing returns a catalogue in the order of offered, followed by other entries of had.
func withMissing(had, offered []ahp.Changeset) (list []ahp.Changeset, some bool) {
	for _, c := range offered {
		i := slices.IndexFunc(had, func(o ahp.Changeset) bool { return o.URITemplate == c.URITemplate })
		if i < 0 {
			some = true
			list = append(list, c)
		} else {
			list = append(list, had[i])
		}
	}
	for _, o := range had {
		if !slices.ContainsFunc(offered, func(c ahp.Changeset) bool { return o.URITemplate == c.URITemplate }) {
			list = append(list, o)
		}
	}
	return list, some
}

// chatDirs returns a chat's own directories with symbolic links resolved, or none if it works in
// all of its session's.
func (p *Part) chatDirs(chat ahp.URI) []string {
	return p.resolveDirs(p.cfg.ChatDirs(chat))
}

// resolveDirs returns directories with symbolic links resolved, as git names them.
func (p *Part) resolveDirs(dirs []string) []string {
	if len(dirs) == 0 {
		return nil
	}
	out := p.cfg.Files.RealPaths(p.core.Ctx, dirs)
	for i, real := range out {
		if real == "" {
			out[i] = dirs[i]
		}
	}
	return out
}

// scopeOfChat limits a checkpoint to the directories of the scope's chat.
func (p *Part) scopeOfChat(ctx context.Context, session ahp.URI, scope changeScope,
	c machine.Checkpoint) (machine.Checkpoint, error) {
	if scope.chat == "" {
		return c, nil
	}
	uri, ok := p.chatByShort(session, scope.chat)
	if !ok {
		return c, errors.New("this chat was deleted")
	}
	if err := p.core.Ensure(ctx, uri); err != nil {
		return c, err
	}
	return c.Within(p.chatDirs(uri)), nil
}

func (p *Part) chatByShort(session ahp.URI, short string) (ahp.URI, bool) {
	if e := p.core.Catalogue.Alive(session); e != nil {
		for _, c := range e.Summary.Chats {
			if core.ShortID(c.Resource) == short {
				return c.Resource, true
			}
		}
	}
	return "", false
}

// withinChat limits a checkpoint of a turn to its chat's own directories, if it has any.
func (p *Part) withinChat(chat ahp.URI, c machine.Checkpoint) machine.Checkpoint {
	if dirs := p.chatDirs(chat); len(dirs) > 0 {
		return c.Within(dirs)
	}
	return c
}

// publishChatTotals publishes the totals of a chat's own directories in its summary.
func (p *Part) publishChatTotals(ctx context.Context, ref TurnRef, first, now machine.Checkpoint) {
	dirs := p.chatDirs(ref.Chat)
	if len(dirs) == 0 {
		return
	}
	scope := changeScope{kind: kindSession, chat: core.ShortID(ref.Chat)}
	files, err := p.attribute(p.ledger(ref.Session), dirs).compare(ctx, scope, first, now.Within(dirs))
	if err == nil {
		err = p.core.Do(ctx, func(tx *hub.Tx) {
			tx.Apply(ref.Session, &ahp.SessionChatUpdatedAction{Chat: ref.Chat,
				Changes: ahp.PartialChatSummary{Changes: totals(files)}})
		})
	}
	if err != nil {
		p.core.Log.Warn("what a chat changed is not told", "chat", ref.Chat, "err", err)
	}
}

// CloseChat closes the changesets of a removed chat.
func (p *Part) CloseChat(tx *hub.Tx, session, chat ahp.URI) {
	for _, kind := range chatKinds {
		uri := ChatURI(session, chat, kind)
		tx.Apply(uri, &ahp.ChangesetClearedAction{})
		tx.Close(uri)
	}
}
