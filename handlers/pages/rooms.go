package pages

import (
	"context"

	"github.com/ahphub/ahphub/handlers/live"
	"github.com/ahphub/ahphub/hub/access"
	"github.com/ahphub/ahphub/hub/ahp"
	"github.com/ahphub/ahphub/hub/host/core"
)

// rooms lists every live room of the program. hub/access says who may follow which.
func (p *Pages) rooms() live.Table {
	return live.Table{
		"rail":           {Open: p.newRailRoom, Share: mayAnswer},
		"inbox":          {Open: p.newInboxRoom, Share: mayAnswerAs}, // it says who is mentioned
		"session":        {Open: p.newSessionRoom},
		"people":         {Open: p.newPeopleRoom},
		"chat":           {Open: p.newChatRoom},
		"changes":        {Open: p.newChangesRoom},
		"terminals":      {Open: p.newTabsRoom},
		"terminal":       {Open: p.newTerminalRoom},
		"automations":    {Open: p.newAutomationsRoom},
		"automation":     {Open: p.newAutomationRoom},
		"customizations": {Open: p.newCustomsRoom},
	}
}

// prepare has channels in memory before a room subscribes to them.
func (p *Pages) prepare(ctx context.Context, who access.Principal, uris ...ahp.URI) error {
	c := core.Caller{Principal: who, ClientID: "page:" + who.ID}
	for _, u := range uris {
		if err := p.Host.Prepare(ctx, c, u); err != nil {
			return err
		}
	}
	return nil
}
