package ahp

// BackgroundWork is a process that a chat started and that continues in the background.
type BackgroundWork struct{ Value BackgroundWorkValue }

// BackgroundWorkValue is implemented by *ShellBackgroundWork, *SubagentBackgroundWork and *UnknownVariant.
type BackgroundWorkValue interface{ isBackgroundWork() }

func (*ShellBackgroundWork) isBackgroundWork()    {}
func (*SubagentBackgroundWork) isBackgroundWork() {}
func (*UnknownVariant) isBackgroundWork()         {}

// MarshalJSON writes the variant with its discriminator.
func (u BackgroundWork) MarshalJSON() ([]byte, error) { return Marshal(u) }

// UnmarshalJSON picks the variant by its discriminator.
func (u *BackgroundWork) UnmarshalJSON(b []byte) error { return Unmarshal(b, u) }

// ShellBackgroundWork is a command.
type ShellBackgroundWork struct {
	ID        string `json:"id"`
	Label     string `json:"label"`
	StartedAt string `json:"startedAt"`
	Command   string `json:"command"`
	Terminal  URI    `json:"terminal,omitempty"`
	Meta      Meta   `json:"_meta,omitzero"`
}

// SubagentBackgroundWork is an agent with a chat of its own.
type SubagentBackgroundWork struct {
	ID        string `json:"id"`
	Label     string `json:"label"`
	StartedAt string `json:"startedAt"`
	Chat      URI    `json:"chat"`
	Meta      Meta   `json:"_meta,omitzero"`
}
