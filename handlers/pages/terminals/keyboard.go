package terminals

import (
	"github.com/ahphub/ahphub/handlers/pages/site"
	"github.com/ahphub/ahphub/hub/access"
	"github.com/ahphub/ahphub/hub/ahp"
	"github.com/ahphub/ahphub/hub/host/core"
	"github.com/ahphub/ahphub/templ/page"
)

// keyboard is a terminal's state as sent to a frame: its size, and who controls it, for one viewer.
type keyboard struct {
	Size   []int64 `json:"size"`
	Held   string  `json:"held"` // one of page.HeldBy…
	Holder string  `json:"holder,omitempty"`
	Mine   bool    `json:"mine"`           // this viewer's: their window sets the size, and their keys reach the shell
	May    bool    `json:"may"`            // it is free, and this viewer may take control by typing
	Asked  string  `json:"asked"`          // "waiting" or "denied" if this viewer requested control
	Exit   *int64  `json:"exit,omitempty"` // of an exited program
}

func (p *Pages) keyboard(who access.Principal, session, uri ahp.URI, s *ahp.TerminalState) keyboard {
	k := keyboard{Size: []int64{site.OrZero(s.Cols), site.OrZero(s.Rows)}, Held: heldBy(s), Exit: s.Lifecycle.ExitCode}
	if holder, ok := s.Claim.Value.(*ahp.TerminalClientClaim); ok && k.Held == page.HeldByPerson {
		k.Holder = p.clientName(session, holder.ClientID)
		k.Mine = holder.ClientID == core.PageClient(who.ID) && who.Has(access.RightType)
	}
	k.May = k.Held == page.HeldByNobody && who.Has(access.RightType)
	for _, a := range p.Host.Asks(uri) {
		if a.Client == core.PageClient(who.ID) {
			k.Asked = "waiting"
			if a.Denied {
				k.Asked = "denied"
			}
		}
	}
	return k
}
