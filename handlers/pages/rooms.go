package pages

import (
	"github.com/ahphub/ahphub/handlers/live"
	"github.com/ahphub/ahphub/handlers/pages/site"
)

// rooms lists every live room of the program. hub/access says who may follow which.
func (p *Pages) rooms() live.Table {
	return live.Table{
		"rail":           {Open: p.NewRailRoom, Share: site.AnswerRights},
		"inbox":          {Open: p.inbox.NewRoom, Share: site.PersonAndRights}, // it says who is mentioned
		"session":        {Open: p.NewSessionRoom},
		"people":         {Open: p.presence.NewRoom},
		"chat":           {Open: p.chat.NewRoom},
		"changes":        {Open: p.review.NewRoom},
		"terminals":      {Open: p.terminals.NewTabsRoom},
		"terminal":       {Open: p.terminals.NewRoom},
		"automations":    {Open: p.automations.NewListRoom},
		"automation":     {Open: p.automations.NewRoom},
		"customizations": {Open: p.customs.NewRoom},
	}
}
