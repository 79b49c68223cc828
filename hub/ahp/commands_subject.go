package ahp

// Calls that change something have a Subject method, which returns their subject and details for
// the audit.

// Subject returns the session.
func (p *CreateSessionParams) Subject() (on, detail string) { return p.Channel, "" }

// Subject returns what the call changes.
func (p *DisposeSessionParams) Subject() (on, detail string) { return p.Channel, "" }

// Subject returns what the call changes.
func (p *DisposeChatParams) Subject() (on, detail string) { return p.Channel, "" }

// Subject returns what the call changes.
func (p *MoveChatParams) Subject() (on, detail string) { return p.Channel, "" }

// Subject returns what the call changes.
func (p *CreateTerminalParams) Subject() (on, detail string) { return p.Channel, "" }

// Subject returns what the call changes.
func (p *DisposeTerminalParams) Subject() (on, detail string) { return p.Channel, "" }

// Subject returns what the call changes.
func (p *ResourceWriteParams) Subject() (on, detail string) { return p.URI, "" }

// Subject returns what the call changes.
func (p *ResourceMkdirParams) Subject() (on, detail string) { return p.URI, "" }

// Subject returns what the call changes.
func (p *ResourceCopyParams) Subject() (on, detail string) { return p.Source, "to " + p.Destination }

// Subject returns what the call changes.
func (p *ResourceMoveParams) Subject() (on, detail string) { return p.Source, "to " + p.Destination }

// Subject returns what the call changes.
func (p *ResourceDeleteParams) Subject() (on, detail string) { return p.URI, "" }

// Subject returns what the call changes.
func (p *ResourceRequestParams) Subject() (on, detail string) { return p.URI, "" }

// Subject returns what the call changes.
func (p *InvokeChangesetOperationParams) Subject() (on, detail string) {
	return p.Channel, p.OperationID
}

// Subject returns what the call changes.
func (p *AuthenticateParams) Subject() (on, detail string) { return p.Resource, "" }

// Subject returns what the call changes.
func (p *RunAutomationParams) Subject() (on, detail string) { return p.Automation, "" }
