package ahp

// AutomationState is a part of the protocol.
type AutomationState struct {
	Entries []AutomationEntry `json:"entries"`
	Meta    Meta              `json:"_meta,omitzero"`
}

// AutomationEntry is a part of the protocol.
type AutomationEntry struct {
	Resource       URI                    `json:"resource"`
	Definition     AutomationDefinition   `json:"definition"`
	NextRunAt      string                 `json:"nextRunAt,omitempty"`
	RunCount       *int64                 `json:"runCount,omitempty"`
	Runs           []AutomationRunSummary `json:"runs"`
	RunsNextCursor string                 `json:"runsNextCursor,omitempty"`
	Operations     []AutomationOperation  `json:"operations"`
	Customizations []PluginCustomization  `json:"customizations,omitzero"`
	CreatedAt      string                 `json:"createdAt"`
	ModifiedAt     string                 `json:"modifiedAt"`
	Meta           Meta                   `json:"_meta,omitzero"`
}

// AutomationOperation is an open set of names: unknown ones survive.
type AutomationOperation string

// The values of AutomationOperation.
const (
	AutomationOperationUpdate AutomationOperation = "update"
	AutomationOperationRemove AutomationOperation = "remove"
	AutomationOperationRun    AutomationOperation = "run"
)

// AutomationDefinition is a part of the protocol.
type AutomationDefinition struct {
	Title             string                       `json:"title"`
	Message           Message                      `json:"message"`
	Session           AutomationSessionTemplate    `json:"session"`
	Enabled           bool                         `json:"enabled"`
	Triggers          []AutomationTrigger          `json:"triggers"`
	DisableConditions []AutomationDisableCondition `json:"disableConditions,omitzero"`
	Meta              Meta                         `json:"_meta,omitzero"`
}

// AutomationDefinitionPatch is a part of the protocol.
type AutomationDefinitionPatch struct {
	Title             *string                      `json:"title,omitempty"`
	Message           *Message                     `json:"message,omitempty"`
	Session           *AutomationSessionTemplate   `json:"session,omitempty"`
	Enabled           *bool                        `json:"enabled,omitempty"`
	Triggers          []AutomationTrigger          `json:"triggers,omitzero"`
	DisableConditions []AutomationDisableCondition `json:"disableConditions,omitzero"`
	Meta              Meta                         `json:"_meta,omitzero"`
}

// AutomationSessionTemplate is a part of the protocol.
type AutomationSessionTemplate struct {
	Provider           string                      `json:"provider,omitempty"`
	Model              *ModelSelection             `json:"model,omitempty"`
	Agent              *AgentSelection             `json:"agent,omitempty"`
	WorkingDirectories []URI                       `json:"workingDirectories,omitzero"`
	Config             Meta                        `json:"config,omitzero"`
	Customizations     []ClientPluginCustomization `json:"customizations,omitzero"`
}

// AutomationTrigger is one of the kinds of AutomationTriggerValue.
type AutomationTrigger struct{ Value AutomationTriggerValue }

// AutomationTriggerValue is implemented by *AutomationScheduleTrigger, *AutomationEventTrigger and *UnknownVariant.
type AutomationTriggerValue interface{ isAutomationTrigger() }

func (*AutomationScheduleTrigger) isAutomationTrigger() {}
func (*AutomationEventTrigger) isAutomationTrigger()    {}
func (*UnknownVariant) isAutomationTrigger()            {}

// MarshalJSON writes the variant with its discriminator.
func (u AutomationTrigger) MarshalJSON() ([]byte, error) { return Marshal(u) }

// UnmarshalJSON picks the variant by its discriminator.
func (u *AutomationTrigger) UnmarshalJSON(b []byte) error { return Unmarshal(b, u) }

// AutomationScheduleTrigger is a part of the protocol.
type AutomationScheduleTrigger struct {
	ID            string                  `json:"id"`
	Schedule      AutomationSchedule      `json:"schedule"`
	MisfirePolicy AutomationMisfirePolicy `json:"misfirePolicy,omitempty"`
}

// AutomationSchedule is a part of the protocol.
type AutomationSchedule struct {
	Expression string `json:"expression"`
	TimeZone   string `json:"timeZone"`
}

// AutomationMisfirePolicy is an open set of names: unknown ones survive.
type AutomationMisfirePolicy string

// The values of AutomationMisfirePolicy.
const (
	AutomationMisfirePolicySkip    AutomationMisfirePolicy = "skip"
	AutomationMisfirePolicyRunOnce AutomationMisfirePolicy = "runOnce"
)

// AutomationEventTrigger is a part of the protocol.
type AutomationEventTrigger struct {
	ID          string            `json:"id"`
	Type        string            `json:"type"`
	Title       string            `json:"title"`
	Description string            `json:"description,omitempty"`
	Events      []AutomationEvent `json:"events"`
	Config      Meta              `json:"config,omitzero"`
}

// AutomationEvent is a part of the protocol.
type AutomationEvent struct {
	ID          string `json:"id"`
	Title       string `json:"title"`
	Description string `json:"description,omitempty"`
}

// AutomationTriggerDefinition is a part of the protocol.
type AutomationTriggerDefinition struct {
	Type         string            `json:"type"`
	Title        string            `json:"title"`
	Description  string            `json:"description,omitempty"`
	Events       []AutomationEvent `json:"events"`
	ConfigSchema *ConfigSchema     `json:"configSchema,omitempty"`
}

// AutomationDisableCondition is one of the kinds of AutomationDisableConditionValue.
type AutomationDisableCondition struct {
	Value AutomationDisableConditionValue
}

// AutomationDisableConditionValue is implemented by *AutomationAfterRunsCondition, *AutomationAfterDateCondition and
// *UnknownVariant.
type AutomationDisableConditionValue interface{ isAutomationDisableCondition() }

func (*AutomationAfterRunsCondition) isAutomationDisableCondition() {}
func (*AutomationAfterDateCondition) isAutomationDisableCondition() {}
func (*UnknownVariant) isAutomationDisableCondition()               {}

// MarshalJSON writes the variant with its discriminator.
func (u AutomationDisableCondition) MarshalJSON() ([]byte, error) { return Marshal(u) }

// UnmarshalJSON picks the variant by its discriminator.
func (u *AutomationDisableCondition) UnmarshalJSON(b []byte) error { return Unmarshal(b, u) }

// AutomationAfterRunsCondition is a part of the protocol.
type AutomationAfterRunsCondition struct {
	Max int64 `json:"max"`
}

// AutomationAfterDateCondition is a part of the protocol.
type AutomationAfterDateCondition struct {
	Date string `json:"date"`
}

// AutomationCapabilities is a part of the protocol.
type AutomationCapabilities struct {
	Create          Meta                          `json:"create,omitzero"`
	Schedules       *AutomationScheduleCapability `json:"schedules,omitempty"`
	RunCancellation Meta                          `json:"runCancellation,omitzero"`
	RunHistoryLimit *int64                        `json:"runHistoryLimit,omitempty"`
	Customizations  Meta                          `json:"customizations,omitzero"`
}

// AutomationScheduleCapability is a part of the protocol.
type AutomationScheduleCapability struct {
	MinIntervalMinutes *int64 `json:"minIntervalMinutes,omitempty"`
}
