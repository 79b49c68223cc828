package ahp

// AutomationState is the catalogue of automations.
type AutomationState struct {
	Entries []AutomationEntry `json:"entries"`
	Meta    Meta              `json:"_meta,omitzero"`
}

// AutomationEntry is an automation and its latest runs.
type AutomationEntry struct {
	Resource       URI                    `json:"resource"`
	Definition     AutomationDefinition   `json:"definition"`
	NextRunAt      string                 `json:"nextRunAt,omitempty"`
	RunCount       *int64                 `json:"runCount,omitempty"` // present only with an afterRuns condition
	Runs           []AutomationRunSummary `json:"runs"`               // newest first
	RunsNextCursor string                 `json:"runsNextCursor,omitempty"`
	Operations     []AutomationOperation  `json:"operations"`
	Customizations []PluginCustomization  `json:"customizations,omitzero"`
	CreatedAt      string                 `json:"createdAt"`
	ModifiedAt     string                 `json:"modifiedAt"`
	Meta           Meta                   `json:"_meta,omitzero"`
}

// AutomationOperation is something clients may do with an automation.
type AutomationOperation string

// The values of AutomationOperation.
const (
	AutomationOperationUpdate AutomationOperation = "update"
	AutomationOperationRemove AutomationOperation = "remove"
	AutomationOperationRun    AutomationOperation = "run"
)

// AutomationDefinition defines what an automation does, and when.
type AutomationDefinition struct {
	Title             string                       `json:"title"`
	Message           Message                      `json:"message"`
	Session           AutomationSessionTemplate    `json:"session"`
	Enabled           bool                         `json:"enabled"`
	Triggers          []AutomationTrigger          `json:"triggers"`
	DisableConditions []AutomationDisableCondition `json:"disableConditions,omitzero"`
	Meta              Meta                         `json:"_meta,omitzero"`
}

// AutomationDefinitionPatch holds the fields of a definition to change; nil fields stay as they
// are, and an empty DisableConditions removes all conditions.
type AutomationDefinitionPatch struct {
	Title             *string                      `json:"title,omitempty"`
	Message           *Message                     `json:"message,omitempty"`
	Session           *AutomationSessionTemplate   `json:"session,omitempty"`
	Enabled           *bool                        `json:"enabled,omitempty"`
	Triggers          []AutomationTrigger          `json:"triggers,omitzero"`
	DisableConditions []AutomationDisableCondition `json:"disableConditions,omitzero"`
	Meta              Meta                         `json:"_meta,omitzero"`
}

// AutomationSessionTemplate describes the session a run starts.
type AutomationSessionTemplate struct {
	Provider           string                      `json:"provider,omitempty"`
	Model              *ModelSelection             `json:"model,omitempty"`
	Agent              *AgentSelection             `json:"agent,omitempty"`
	WorkingDirectories []URI                       `json:"workingDirectories,omitzero"`
	Config             Meta                        `json:"config,omitzero"`
	Customizations     []ClientPluginCustomization `json:"customizations,omitzero"`
}

// AutomationTrigger starts runs.
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

// AutomationScheduleTrigger starts runs on a schedule.
type AutomationScheduleTrigger struct {
	ID            string                  `json:"id"`
	Schedule      AutomationSchedule      `json:"schedule"`
	MisfirePolicy AutomationMisfirePolicy `json:"misfirePolicy,omitempty"`
}

// AutomationSchedule is a cron expression of five fields in a time zone.
type AutomationSchedule struct {
	Expression string `json:"expression"`
	TimeZone   string `json:"timeZone"`
}

// AutomationMisfirePolicy says what to do about runs that were due while the host was down; the
// default is runOnce.
type AutomationMisfirePolicy string

// The values of AutomationMisfirePolicy.
const (
	AutomationMisfirePolicySkip    AutomationMisfirePolicy = "skip"
	AutomationMisfirePolicyRunOnce AutomationMisfirePolicy = "runOnce"
)

// AutomationEventTrigger starts runs when an event happens.
type AutomationEventTrigger struct {
	ID          string            `json:"id"`
	Type        string            `json:"type"`
	Title       string            `json:"title"`
	Description string            `json:"description,omitempty"`
	Events      []AutomationEvent `json:"events"`
	Config      Meta              `json:"config,omitzero"`
}

// AutomationEvent is an event a trigger can wait for.
type AutomationEvent struct {
	ID          string `json:"id"`
	Title       string `json:"title"`
	Description string `json:"description,omitempty"`
}

// AutomationTriggerDefinition describes a kind of event trigger the host offers.
type AutomationTriggerDefinition struct {
	Type         string            `json:"type"`
	Title        string            `json:"title"`
	Description  string            `json:"description,omitempty"`
	Events       []AutomationEvent `json:"events"`
	ConfigSchema *ConfigSchema     `json:"configSchema,omitempty"`
}

// AutomationDisableCondition turns an automation off; one met condition is enough.
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

// AutomationAfterRunsCondition turns an automation off after a number of runs.
type AutomationAfterRunsCondition struct {
	Max int64 `json:"max"`
}

// AutomationAfterDateCondition turns an automation off at a time.
type AutomationAfterDateCondition struct {
	Date string `json:"date"` // ISO 8601
}

// AutomationCapabilities lists what the host can do with automations. Absent fields are not
// supported.
type AutomationCapabilities struct {
	Create          Meta                          `json:"create,omitzero"`
	Schedules       *AutomationScheduleCapability `json:"schedules,omitempty"`
	RunCancellation Meta                          `json:"runCancellation,omitzero"`
	RunHistoryLimit *int64                        `json:"runHistoryLimit,omitempty"` // finished runs kept in an entry
	Customizations  Meta                          `json:"customizations,omitzero"`
}

// AutomationScheduleCapability bounds schedules.
type AutomationScheduleCapability struct {
	MinIntervalMinutes *int64 `json:"minIntervalMinutes,omitempty"`
}
