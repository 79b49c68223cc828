package host

import (
	"context"

	"github.com/ahphub/ahphub/hub"
	"github.com/ahphub/ahphub/hub/ahp"
	"github.com/ahphub/ahphub/hub/host/automations"
	"github.com/ahphub/ahphub/hub/host/changes"
	"github.com/ahphub/ahphub/hub/host/clients"
	"github.com/ahphub/ahphub/hub/host/core"
	"github.com/ahphub/ahphub/hub/host/customs"
	"github.com/ahphub/ahphub/hub/host/files"
	"github.com/ahphub/ahphub/hub/host/sandboxes"
	"github.com/ahphub/ahphub/hub/host/secrets"
	"github.com/ahphub/ahphub/hub/host/terminals"
	"github.com/ahphub/ahphub/hub/host/threads"
	"github.com/ahphub/ahphub/hub/host/worktrees"
	"github.com/ahphub/ahphub/hub/machine"
	"github.com/ahphub/ahphub/hub/review"
)

// newParts creates the host's parts. They get access to sessions and other parts as functions.
func (h *Host) newParts() {
	h.Sandboxes = sandboxes.New(h.core, sandboxes.Config{Rules: h.cfg.Sandbox, Elsewhere: h.cfg.Elsewhere,
		Agent: h.agents.Get, Machine: h.cfg.Machine, Home: h.cfg.Home, Contacts: h.cfg.Contacts,
		Container: h.cfg.Container, WorktreeOf: worktreeOf,
		FurtherBoxes: []string{terminals.GuestsBox, machine.GitBox}})
	h.secrets = h.newSecrets()
	h.Files = files.New(h.core, files.Config{
		Files: h.cfg.Machine.Files(), DefaultDir: h.cfg.DefaultDir, Clients: h.cfg.Clients, Asked: h.cfg.FilesAsked,
		Visible: h.visible, ReadVersion: h.Blob, Track: h.track, TrackedFiles: h.trackedFiles,
		ClientOf: func(session ahp.URI, id string) (string, bool) { return h.clients.Principal(session, id) },
		HasTouched: func(ctx context.Context, session ahp.URI, path string) bool {
			return h.Changes.HasTouched(ctx, session, path)
		},
		RefreshChanges: func() { h.Changes.RefreshAll() },
	})
	h.clients = clients.New(h.core, clients.Config{Changed: func(session ahp.URI) {
		h.handleClientsChanged(session)
		h.Customs.Refresh(session)
	}})
	h.Terminals = terminals.New(h.core, terminals.Config{
		Machine: h.cfg.Machine.Terminals(), DefaultDir: h.cfg.DefaultDir, Pass: h.cfg.Pass,
		Sandbox: h.Sandboxes.PolicyOf, Secrets: h.secrets.Give,
		Grace: h.core.Limits.TerminalGrace, ClientGrace: h.core.Limits.ClientGrace, Directories: h.directoriesOf,
		CheckURI: checkTerminalURI, Directory: h.existingDir, CheckPlace: h.checkPlace, Files: h.cfg.Machine.Files(),
		Reconsider: h.provisional.reconsider, Dispatch: h.Dispatch,
	})
	h.Changes = changes.New(h.core, changes.Config{
		Changes: h.cfg.Machine.Changes(), Files: h.cfg.Machine.Files(), PollFor: h.cfg.PollFolders,
		SetTotals: h.setChanges,
		Computed: func(ctx context.Context, session ahp.URI, versions func() map[string]string) {
			h.Threads.WithdrawOvertaken(ctx, session, versions)
		},
		TurnEnded: func(ctx context.Context, session ahp.URI) { h.Threads.FollowLines(ctx, session) },
		Boxes:     h.Sandboxes,
		Granted:   h.Files.GrantedOutside, MayLeadTo: h.Files.MayLeadTo, SettleRepository: h.Files.SettleRepository,
		ChatOfTurn: chatIndex{h.core}.ofTurn, ChatDirs: chatIndex{h.core}.dirs, SetMeta: setSessionMeta,
		RefreshBranch: func(session ahp.URI) { h.Worktrees.RefreshBranch(session) },
		Folders:       h.core.Limits.Folders, Idle: h.core.Limits.Idle, ReadSyntax: h.cfg.ReadSyntax,
	})
	h.git = h.Changes.Repositories()
	h.Worktrees = h.newWorktrees()
	h.Threads = h.newThreads()
	h.Automations = automations.New(h.core, automations.Config{
		CheckProvider: func(provider string) error { _, err := h.agents.Find(provider); return err },
		CheckTemplate: h.CheckTemplate, NewSession: h.newSession, OpenSession: h.admit,
		Isolate: func(ctx context.Context, session ahp.URI, s *ahp.SessionState) (func(), error) {
			return h.isolate(ctx, session, s, func(string) {})
		},
	})
	h.Customs = customs.New(h.core, customs.Config{
		Customs: h.cfg.Machine.Customs(), Home: h.cfg.Home, DataDir: h.cfg.DataDir,
		Sandbox:        h.Sandboxes.PolicyOf,
		ServersChanged: h.handleServersChanged,
		WorktreeOf:     worktreeOf,
	})
}

// worktreeOf returns a session's worktree and its repository; ok is false without one.
func worktreeOf(s *ahp.SessionState) (dir, repo string, ok bool) {
	w, ok := worktrees.Of(s)
	return w.Dir, w.Repo, ok
}

// newSecrets creates the part for secrets.
func (h *Host) newSecrets() *secrets.Part {
	cfg := secrets.Config{Of: h.cfg.Secrets, Audit: h.cfg.Audit, DataDir: h.cfg.DataDir, WorktreeOf: worktreeOf,
		WorkDir: func(session ahp.URI, s *ahp.SessionState) (string, error) {
			work, _, err := h.Sandboxes.Dirs(session, s)
			return work, err
		}}
	if h.cfg.Sandbox != nil {
		cfg.Boxes = h.cfg.Sandbox.Dir
	}
	return secrets.New(h.core, cfg)
}

// isolate creates the worktree that a session's settings ask for, and refuses directories that its
// sandbox cannot include. undo removes the worktree.
func (h *Host) isolate(ctx context.Context, session ahp.URI, s *ahp.SessionState, step func(string)) (undo func(),
	err error) {
	undo, err = h.Worktrees.Isolate(ctx, session, s, step)
	if err == nil {
		err = h.Sandboxes.Check(session, s)
	}
	if err != nil {
		undo()
		return func() {}, err
	}
	return undo, nil
}

// newWorktrees creates the part for branches and worktrees.
func (h *Host) newWorktrees() *worktrees.Part {
	cfg := worktrees.Config{Sandbox: h.Sandboxes.PolicyForNew, SetMeta: setSessionMeta, IsBusy: h.isBusy,
		CloseAgent: func(session ahp.URI) { h.turns.drop(session, errIdle) }}
	if h.git != nil {
		cfg.Repositories = h.git
	}
	return worktrees.New(h.core, cfg)
}

// newThreads creates the part for threads.
func (h *Host) newThreads() *threads.Part {
	cfg := threads.Config{Files: h.cfg.Machine.Files(), Most: h.core.Limits.Threads, Judged: h.cfg.Judged,
		Dispatch: h.Dispatch, CheckVersion: h.CheckVersion, Versions: h.Changes.Versions, Refresh: h.Changes.Refresh,
		MarkUsed: h.provisional.keepFor, ReadShared: h.Files.ReadShared,
		ReadVersion: func(ctx context.Context, c core.Caller, uri ahp.URI) ([]byte, error) {
			data, _, err := h.Blob(ctx, c, uri)
			return data, err
		}}
	if h.git != nil {
		cfg.Repositories = h.git
	}
	return threads.New(h.core, cfg)
}

// chatIndex looks up chats for the parts.
type chatIndex struct{ core *core.Core }

// ofTurn returns the chat of a session that contains a turn; known is false if none does.
func (x chatIndex) ofTurn(ctx context.Context, session ahp.URI, turn string) (chat ahp.URI, known bool, err error) {
	e := x.core.Catalogue.Alive(session)
	if e == nil {
		return "", false, nil
	}
	for _, c := range e.Summary.Chats {
		if err := x.core.Ensure(ctx, c.Resource); err != nil {
			return "", false, err
		}
		if s, ok := hub.StateOf[*ahp.ChatState](x.core.Hub, c.Resource); ok && core.HasTurn(s, turn) {
			return c.Resource, true, nil
		}
	}
	return "", false, nil
}

// dirs returns a chat's own local directories.
func (x chatIndex) dirs(chat ahp.URI) []string {
	s, ok := hub.StateOf[*ahp.ChatState](x.core.Hub, chat)
	if !ok {
		return nil
	}
	return core.LocalPaths(s.WorkingDirectories)
}

// isBusy reports whether a session's agent is running a turn. It waits for an agent that is being
// opened.
func (h *Host) isBusy(ctx context.Context, session ahp.URI) bool {
	l := h.turns.findRuntime(session)
	if l == nil {
		return false
	}
	l.opening(ctx)
	return l.busy()
}

// InvokeChangesetOperation runs an operation of a changeset; see changes.Part.InvokeOperation.
func (h *Host) InvokeChangesetOperation(ctx context.Context, c core.Caller,
	p ahp.InvokeChangesetOperationParams) (ahp.InvokeChangesetOperationResult, error) {
	return h.Changes.InvokeOperation(ctx, c, p)
}

// Review returns the review of a session. The value is immutable.
func (h *Host) Review(session ahp.URI) review.Review { return h.Threads.Review(session) }

// track returns git's status of a file. Without checkpoints every file counts as ignored.
func (h *Host) track(ctx context.Context, dir, path string) (machine.Tracking, error) {
	if h.git == nil {
		return machine.Ignored, nil
	}
	return h.git.Track(ctx, "", dir, path)
}

// trackedFiles returns the files that git tracks in directories, or none without checkpoints.
func (h *Host) trackedFiles(ctx context.Context, dirs []string) ([]string, error) {
	if h.git == nil {
		return nil, nil
	}
	return h.git.TrackedFiles(ctx, "", dirs)
}
