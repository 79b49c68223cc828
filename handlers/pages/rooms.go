package pages

import (
	"github.com/ahphub/ahphub/handlers/live"
	"github.com/ahphub/ahphub/handlers/pages/site"
)

// rooms lists every live room of the program. hub/access says who may follow which.
func (p *Pages) rooms() live.Table {
	return live.Table{
		"rail":           {Open: p.NewRailRoom, Share: site.AnswerRights},
		"inbox":          {Open: p.Inbox.NewRoom, Share: site.PersonAndRights}, // shows the person's own mentions
		"session":        {Open: p.NewSessionRoom},
		"people":         {Open: p.Visitors.NewRoom},
		"chat":           {Open: p.Chat.NewRoom},
		"changes":        {Open: p.Review.NewRoom},
		"terminals":      {Open: p.Terminals.NewTabsRoom},
		"terminal":       {Open: p.Terminals.NewRoom},
		"automations":    {Open: p.Automations.NewListRoom},
		"automation":     {Open: p.Automations.NewRoom},
		"customizations": {Open: p.Customs.NewRoom},
		"machines":       {Open: p.Machines.NewRoom},
		"nodes":          {Open: p.Nodes.NewRoom},
	}
}
