package changes

import (
	"context"
	"net/url"
	"slices"
	"strings"

	"github.com/ahphub/ahphub/hub"
	"github.com/ahphub/ahphub/hub/ahp"
	"github.com/ahphub/ahphub/hub/host/core"
)

const changesetScheme = "ahp-changeset:/"

// Kinds of changesets.
const (
	kindSession     = "session"
	kindUncommitted = "uncommitted"
	kindBranch      = "branch"
	kindTurn        = "turn"
	kindCompare     = "compare"
)

// Catalogue returns the changesets of a session (AHP requirement 152).
func (p *Part) Catalogue(session ahp.URI) []ahp.Changeset {
	base := changesetScheme + core.ShortID(session) + "/"
	review := func() *ahp.ChangesetCapabilities { return &ahp.ChangesetCapabilities{Review: ahp.Meta{}} }
	return []ahp.Changeset{
		{Label: "Session", URITemplate: base + kindSession, ChangeKind: kindSession, Capabilities: review(),
			Description: "All changes since the session began"},
		{Label: "Uncommitted", URITemplate: base + kindUncommitted, ChangeKind: kindUncommitted, Capabilities: review(),
			Description: "Differences from the last commit"},
		{Label: "Branch", URITemplate: base + kindBranch, ChangeKind: kindBranch, Capabilities: review(),
			Description: "Changes on this branch since it left the default branch"},
		{Label: "Turn", URITemplate: base + kindTurn + "/{turnId}", ChangeKind: kindTurn, Capabilities: review(),
			Description: "Changes during one turn"},
		{Label: "Compare turns", URITemplate: base + kindCompare + "/{originalTurnId}/{modifiedTurnId}",
			ChangeKind: "compare-turns", Capabilities: review(),
			Description: "Differences between the ends of two turns"},
	}
}

// URI returns the URI of a session's changeset. kind is session, uncommitted, branch or turn, and
// turn is the turn's id.
func URI(session ahp.URI, kind, turn string) ahp.URI {
	uri := changesetScheme + core.ShortID(session) + "/" + kind
	if kind == kindTurn {
		uri += "/" + url.PathEscape(turn)
	}
	return uri
}

// CompareURI returns the URI of the changeset between the ends of two turns.
func CompareURI(session ahp.URI, original, modified string) ahp.URI {
	return changesetScheme + core.ShortID(session) + "/" + kindCompare + "/" + url.PathEscape(original) + "/" +
		url.PathEscape(modified)
}

// changeScope identifies a changeset's changes: of one turn, or from the end of other to the end of
// turn. chat is the short id of a chat, and limits the scope to the chat's directories.
type changeScope struct{ kind, turn, other, chat string }

// all reports whether a scope contains all changes of its session.
func (s changeScope) all() bool { return s.kind == kindSession && s.chat == "" }

// turns returns the turns of a scope.
func (s changeScope) turns() []string {
	switch s.kind {
	case kindTurn:
		return []string{s.turn}
	case kindCompare:
		return []string{s.other, s.turn}
	}
	return nil
}

// readScope parses the part of a changeset's URI after the session.
func readScope(rest string) (scope changeScope, ok bool) {
	part := strings.Split(rest, "/")
	for i, p := range part {
		if part[i], ok = unescape(p); !ok || part[i] == "" {
			return scope, false
		}
	}
	if part[0] == "chat" && len(part) == 3 && slices.Contains(chatKinds, part[2]) {
		return changeScope{kind: part[2], chat: part[1]}, true
	}
	switch kind := part[0]; {
	case len(part) == 1 && (kind == kindSession || kind == kindUncommitted || kind == kindBranch):
		return changeScope{kind: kind}, true
	case len(part) == 2 && kind == kindTurn:
		return changeScope{kind: kind, turn: part[1]}, true
	case len(part) == 3 && kind == kindCompare:
		return changeScope{kind: kind, other: part[1], turn: part[2]}, true
	}
	return scope, false
}

func unescape(s string) (string, bool) {
	out, err := url.PathUnescape(s)
	return out, err == nil
}

// parseURI parses a changeset's URI. ok is false if it is invalid or its session is gone.
func (p *Part) parseURI(uri ahp.URI) (session ahp.URI, scope changeScope, ok bool) {
	rest, ours := strings.CutPrefix(uri, changesetScheme)
	if !ours {
		return "", scope, false
	}
	short, rest, _ := strings.Cut(rest, "/")
	if session, ok = p.core.SessionByShort(short); !ok {
		return "", scope, false
	}
	if scope, ok = readScope(rest); ok && scope.chat != "" {
		_, ok = p.chatByShort(session, scope.chat)
	}
	return session, scope, ok
}

// Open opens the channel of a requested changeset (AHP requirement 153), with status computing.
// known is false if there is no such changeset for this caller.
func (p *Part) Open(ctx context.Context, c core.Caller, uri ahp.URI) (known bool, err error) {
	session, scope, ok := p.parseURI(uri)
	if !ok || p.svc == nil || !c.Audience().Sees(core.SessionInfo(session)) {
		return false, nil
	}
	if err := p.core.Ensure(ctx, session); err != nil {
		return false, err
	}
	info, known, err := p.infoOf(ctx, uri, session, scope)
	if err != nil || !known || !c.Audience().Sees(info) {
		return false, err
	}
	if err := c.MayCall("subscribe", info); err != nil {
		return false, err
	}
	err = p.openChannel(session, info)
	return err == nil, err
}

// infoOf describes a changeset's channel. It belongs to a chat if only that chat's turns or
// directories matter. known is false if the session has no such turn.
func (p *Part) infoOf(ctx context.Context, uri, session ahp.URI,
	scope changeScope) (info hub.ChannelInfo, known bool, err error) {
	info = hub.ChannelInfo{URI: uri, Kind: ahp.ChannelChangeset, Session: session}
	if scope.chat != "" {
		info.Chat, known = p.chatByShort(session, scope.chat)
		return info, known, nil
	}
	for i, turn := range scope.turns() {
		chat, known, err := p.chatOfTurn(ctx, session, turn)
		if err != nil || !known {
			return info, false, err
		}
		if i > 0 && chat != info.Chat {
			chat = "" // between two chats, so it belongs to the session
		}
		info.Chat = chat
	}
	return info, true, nil
}

// chatOfTurn returns the chat of a turn. An interrupted turn that is in no chat has only a change
// record.
func (p *Part) chatOfTurn(ctx context.Context, session ahp.URI, turn string) (chat ahp.URI, known bool, err error) {
	if chat, known, err = p.cfg.ChatOfTurn(ctx, session, turn); err != nil || known {
		return chat, known, err
	}
	r, err := p.ledger(session).turns.get(ctx, turn)
	return "", r != nil, err
}

// Follow keeps a changeset up to date. Call it before a client subscribes.
func (p *Part) Follow(uri ahp.URI) {
	session, _, ok := p.parseURI(uri)
	if !ok || p.svc == nil {
		return
	}
	l := p.ledger(session)
	slept, watch := l.schedule.follow(uri)
	if slept {
		p.markRecomputing(p.core.Ctx, l, []ahp.URI{uri}) // the state is from the last time it was followed
	}
	p.requestLook(l, lookRequest{whole: watch, bases: watch})
	if watch {
		p.core.Go(func() { p.watch(l) })
	}
}

// Unfollow stops keeping a changeset up to date until it is followed again.
func (p *Part) Unfollow(uri ahp.URI) {
	if session, _, ok := p.parseURI(uri); ok {
		p.ledger(session).schedule.leave(uri)
	}
}

// CloseAll closes the changesets of a disposed session (AHP requirement 157). Its chats are loaded.
func (p *Part) CloseAll(tx *hub.Tx, session ahp.URI) {
	p.cfg.SettleRepository(session)
	uris := p.ledger(session).schedule.end() // includes open comparisons of turns
	for _, kind := range []string{kindSession, kindUncommitted, kindBranch} {
		uris = append(uris, URI(session, kind, ""))
	}
	if s, ok := hub.StateOf[*ahp.SessionState](tx, session); ok {
		for _, c := range s.Chats {
			for _, kind := range chatKinds {
				uris = append(uris, ChatURI(session, c.Resource, kind))
			}
			if chat, ok := hub.StateOf[*ahp.ChatState](tx, c.Resource); ok {
				for _, t := range chat.Turns {
					uris = append(uris, URI(session, kindTurn, t.ID))
				}
			}
		}
	}
	slices.Sort(uris)
	for _, uri := range slices.Compact(uris) {
		tx.Apply(uri, &ahp.ChangesetClearedAction{})
		tx.Close(uri)
	}
}

// Forget deletes a session's checkpoints and records.
func (p *Part) Forget(ctx context.Context, session ahp.URI) {
	if svc := p.svc; svc != nil {
		if err := svc.Drop(ctx, session); err != nil {
			p.core.Log.Warn("checkpoints of a session are left behind", "session", session, "err", err)
		}
	}
	p.mu.Lock()
	delete(p.ledgers, session)
	p.mu.Unlock()
	if err := p.edits.forget(ctx, session); err != nil {
		p.core.Log.Warn("records of a session's edits are left behind", "session", session, "err", err)
	}
	if p.core.Store == nil {
		return
	}
	turns, err := p.core.Store.Records(ctx, bucketCheckpoints)
	if err == nil {
		err = p.core.Do(ctx, func(tx *hub.Tx) {
			tx.Record(bucketChanges, session, nil)
			tx.Record(bucketUndo, session, nil)
			for _, r := range turns {
				if strings.HasPrefix(r.Key, session+"#") {
					tx.Record(bucketCheckpoints, r.Key, nil)
				}
			}
		})
	}
	if err != nil {
		p.core.Log.Warn("records of a session's changes are left behind", "session", session, "err", err)
	}
}

// URIBelow returns the changeset that some clients name <session>/changeset/<rest>, such as
// turn/<turnId>; ok is false if rest is invalid.
func URIBelow(session ahp.URI, rest string) (uri ahp.URI, ok bool) {
	scope, ok := readScope(rest)
	switch {
	case !ok:
		return "", false
	case scope.kind == kindCompare:
		return CompareURI(session, scope.other, scope.turn), true
	case scope.chat != "":
		return changesetScheme + core.ShortID(session) + "/" + rest, true
	}
	return URI(session, scope.kind, scope.turn), true
}
