package ahp

// AutomationRunSummary is a run in its automation's list.
type AutomationRunSummary struct {
	Resource       URI                    `json:"resource"`
	Automation     URI                    `json:"automation"`
	Origin         AutomationRunOrigin    `json:"origin"`
	Lifecycle      AutomationRunLifecycle `json:"lifecycle"`
	PrimarySession URI                    `json:"primarySession,omitempty"`
	SessionCount   int64                  `json:"sessionCount"`
	Meta           Meta                   `json:"_meta,omitzero"`
}

// AutomationRunState is a run and the sessions it started.
type AutomationRunState struct {
	Resource       URI                    `json:"resource"`
	Automation     URI                    `json:"automation"`
	Origin         AutomationRunOrigin    `json:"origin"`
	Lifecycle      AutomationRunLifecycle `json:"lifecycle"`
	Sessions       []URI                  `json:"sessions"`
	PrimarySession URI                    `json:"primarySession,omitempty"`
	Meta           Meta                   `json:"_meta,omitzero"`
}

// AutomationRunOrigin is the reason a run started.
type AutomationRunOrigin struct{ Value AutomationRunOriginValue }

// AutomationRunOriginValue is implemented by *AutomationManualRunOrigin, *AutomationTriggerRunOrigin and
// *UnknownVariant.
type AutomationRunOriginValue interface{ isAutomationRunOrigin() }

func (*AutomationManualRunOrigin) isAutomationRunOrigin()  {}
func (*AutomationTriggerRunOrigin) isAutomationRunOrigin() {}
func (*UnknownVariant) isAutomationRunOrigin()             {}

// MarshalJSON writes the variant with its discriminator.
func (u AutomationRunOrigin) MarshalJSON() ([]byte, error) { return Marshal(u) }

// UnmarshalJSON picks the variant by its discriminator.
func (u *AutomationRunOrigin) UnmarshalJSON(b []byte) error { return Unmarshal(b, u) }

// AutomationManualRunOrigin is a run that a person requested.
type AutomationManualRunOrigin struct{}

// AutomationTriggerRunOrigin is a run that a trigger started.
type AutomationTriggerRunOrigin struct {
	TriggerID    string `json:"triggerId"`
	ScheduledFor string `json:"scheduledFor,omitempty"`
	CatchUp      *bool  `json:"catchUp,omitempty"` // the run was due while the host was down
	Event        Meta   `json:"event,omitzero"`
}

// AutomationRunLifecycle is the status of a run.
type AutomationRunLifecycle struct{ Value AutomationRunLifecycleValue }

// AutomationRunLifecycleValue is implemented by *AutomationRunPending, *AutomationRunRunning,
// *AutomationRunCompleted, *AutomationRunFailed, *AutomationRunCancelled and *UnknownVariant.
type AutomationRunLifecycleValue interface{ isAutomationRunLifecycle() }

func (*AutomationRunPending) isAutomationRunLifecycle()   {}
func (*AutomationRunRunning) isAutomationRunLifecycle()   {}
func (*AutomationRunCompleted) isAutomationRunLifecycle() {}
func (*AutomationRunFailed) isAutomationRunLifecycle()    {}
func (*AutomationRunCancelled) isAutomationRunLifecycle() {}
func (*UnknownVariant) isAutomationRunLifecycle()         {}

// MarshalJSON writes the variant with its discriminator.
func (u AutomationRunLifecycle) MarshalJSON() ([]byte, error) { return Marshal(u) }

// UnmarshalJSON picks the variant by its discriminator.
func (u *AutomationRunLifecycle) UnmarshalJSON(b []byte) error { return Unmarshal(b, u) }

// AutomationRunPending is a run that has not started.
type AutomationRunPending struct {
	CreatedAt string `json:"createdAt"`
}

// AutomationRunRunning is a run in progress.
type AutomationRunRunning struct {
	CreatedAt string `json:"createdAt"`
	StartedAt string `json:"startedAt"`
}

// AutomationRunCompleted is a run that succeeded.
type AutomationRunCompleted struct {
	CreatedAt   string     `json:"createdAt"`
	StartedAt   string     `json:"startedAt"`
	CompletedAt string     `json:"completedAt"`
	Usage       *UsageInfo `json:"usage,omitempty"`
}

// AutomationRunFailed is a run that failed.
type AutomationRunFailed struct {
	CreatedAt   string    `json:"createdAt"`
	StartedAt   string    `json:"startedAt,omitempty"`
	CompletedAt string    `json:"completedAt"`
	Error       ErrorInfo `json:"error"`
}

// AutomationRunCancelled is a run that was cancelled.
type AutomationRunCancelled struct {
	CreatedAt   string `json:"createdAt"`
	StartedAt   string `json:"startedAt,omitempty"`
	CompletedAt string `json:"completedAt"`
}
