package pages

import (
	"github.com/ahphub/ahphub/handlers/live"
	"github.com/ahphub/ahphub/handlers/pages/site"
)

// rooms lists every live room of the program. hub/access says who may follow which.
func (p *Pages) rooms() live.Table {
	return live.Table{
		"rail":           {Open: p.NewRailRoom, Share: site.AnswerRights},
		"inbox":          {Open: p.newInboxRoom, Share: site.PersonAndRights}, // it says who is mentioned
		"session":        {Open: p.NewSessionRoom},
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
