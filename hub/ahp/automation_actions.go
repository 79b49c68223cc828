package ahp

// AutomationCreateRequestedAction is automation/createRequested; the client chooses the resource.
type AutomationCreateRequestedAction struct {
	Resource   URI                  `json:"resource"`
	Definition AutomationDefinition `json:"definition"`
}

// ActionType returns "automation/createRequested".
func (*AutomationCreateRequestedAction) ActionType() string { return "automation/createRequested" }

// AutomationUpdateRequestedAction is automation/updateRequested.
type AutomationUpdateRequestedAction struct {
	Resource URI                       `json:"resource"`
	Changes  AutomationDefinitionPatch `json:"changes"`
}

// ActionType returns "automation/updateRequested".
func (*AutomationUpdateRequestedAction) ActionType() string { return "automation/updateRequested" }

// AutomationSetAction is automation/set, which adds an automation or replaces it by resource.
type AutomationSetAction struct {
	Automation AutomationEntry `json:"automation"`
}

// ActionType returns "automation/set".
func (*AutomationSetAction) ActionType() string { return "automation/set" }

// AutomationRemovedAction is automation/removed.
type AutomationRemovedAction struct {
	Resource URI `json:"resource"`
}

// ActionType returns "automation/removed".
func (*AutomationRemovedAction) ActionType() string { return "automation/removed" }

// AutomationRunLifecycleChangedAction is automationRun/lifecycleChanged.
type AutomationRunLifecycleChangedAction struct {
	Lifecycle AutomationRunLifecycle `json:"lifecycle"`
}

// ActionType returns "automationRun/lifecycleChanged".
func (*AutomationRunLifecycleChangedAction) ActionType() string {
	return "automationRun/lifecycleChanged"
}

// AutomationRunSessionSetAction is automationRun/sessionSet.
type AutomationRunSessionSetAction struct {
	Session URI `json:"session"`
}

// ActionType returns "automationRun/sessionSet".
func (*AutomationRunSessionSetAction) ActionType() string { return "automationRun/sessionSet" }

// AutomationRunSessionRemovedAction is automationRun/sessionRemoved.
type AutomationRunSessionRemovedAction struct {
	Session URI `json:"session"`
}

// ActionType returns "automationRun/sessionRemoved".
func (*AutomationRunSessionRemovedAction) ActionType() string { return "automationRun/sessionRemoved" }

// AutomationRunPrimarySessionChangedAction is automationRun/primarySessionChanged; an empty one
// clears it.
type AutomationRunPrimarySessionChangedAction struct {
	PrimarySession URI `json:"primarySession,omitempty"`
}

// ActionType returns "automationRun/primarySessionChanged".
func (*AutomationRunPrimarySessionChangedAction) ActionType() string {
	return "automationRun/primarySessionChanged"
}

// AutomationRunCancelRequestedAction is automationRun/cancelRequested.
type AutomationRunCancelRequestedAction struct{}

// ActionType returns "automationRun/cancelRequested".
func (*AutomationRunCancelRequestedAction) ActionType() string {
	return "automationRun/cancelRequested"
}
