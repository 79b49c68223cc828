package rpc

import (
	"context"

	"github.com/ahphub/ahphub/hub/ahp"
	"github.com/ahphub/ahphub/hub/host/core"
	"github.com/ahphub/ahphub/hub/jsonrpc"
)

// Chats creates, moves and disposes of chats, and sends older turns.
type Chats interface {
	CreateChat(ctx context.Context, c core.Caller, p ahp.CreateChatParams) error
	DisposeChat(ctx context.Context, c core.Caller, p ahp.DisposeChatParams) error
	MoveChat(ctx context.Context, c core.Caller, p ahp.MoveChatParams) (ahp.MoveChatResult, error)
	FetchTurns(ctx context.Context, c core.Caller, p ahp.FetchTurnsParams) error
}

// fetchTurns has another request and answer before 0.5.1.
func (s *socket) fetchTurns(ctx context.Context, m jsonrpc.Message) error {
	if s.dialect.Before("0.5.1") {
		return s.turnsBefore(ctx, m)
	}
	return result(fetchTurns)(s, ctx, m)
}

// fetchTurns answers {}: the turns were sent before, as an action (AHP requirement 88).
func fetchTurns(h Host, ctx context.Context, c core.Caller, p ahp.FetchTurnsParams) (ahp.FetchTurnsResult, error) {
	return ahp.FetchTurnsResult{}, h.FetchTurns(ctx, c, p)
}
