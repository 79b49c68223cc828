package ahp

import "reflect"

// unionKinds has each union's discriminator and the variant for each of its values.
var unionKinds = map[reflect.Type]*unionInfo{
	reflect.TypeFor[AutomationDisableCondition](): newUnion("kind", map[string]AutomationDisableConditionValue{
		"afterRuns": (*AutomationAfterRunsCondition)(nil),
		"afterDate": (*AutomationAfterDateCondition)(nil),
	}),
	reflect.TypeFor[AutomationRunLifecycle](): newUnion("status", map[string]AutomationRunLifecycleValue{
		"pending":   (*AutomationRunPending)(nil),
		"running":   (*AutomationRunRunning)(nil),
		"completed": (*AutomationRunCompleted)(nil),
		"failed":    (*AutomationRunFailed)(nil),
		"cancelled": (*AutomationRunCancelled)(nil),
	}),
	reflect.TypeFor[AutomationRunOrigin](): newUnion("kind", map[string]AutomationRunOriginValue{
		"manual":  (*AutomationManualRunOrigin)(nil),
		"trigger": (*AutomationTriggerRunOrigin)(nil),
	}),
	reflect.TypeFor[AutomationTrigger](): newUnion("kind", map[string]AutomationTriggerValue{
		"schedule": (*AutomationScheduleTrigger)(nil),
		"event":    (*AutomationEventTrigger)(nil),
	}),
	reflect.TypeFor[BackgroundWork](): newUnion("kind", map[string]BackgroundWorkValue{
		"shell":    (*ShellBackgroundWork)(nil),
		"subagent": (*SubagentBackgroundWork)(nil),
	}),
	reflect.TypeFor[ChangesetOperationTarget](): newUnion("kind", map[string]ChangesetOperationTargetValue{
		"resource": (*ChangesetOperationResourceTarget)(nil),
		"range":    (*ChangesetOperationRangeTarget)(nil),
	}),
	reflect.TypeFor[ChatInputAnswer](): newUnion("state", map[string]ChatInputAnswerVariant{
		"draft":     (*ChatInputAnswered)(nil),
		"submitted": (*ChatInputAnswered)(nil),
		"skipped":   (*ChatInputSkipped)(nil),
	}),
	reflect.TypeFor[ChatInputAnswerValue](): newUnion("kind", map[string]ChatInputAnswerValueValue{
		"text":          (*ChatInputTextAnswerValue)(nil),
		"number":        (*ChatInputNumberAnswerValue)(nil),
		"boolean":       (*ChatInputBooleanAnswerValue)(nil),
		"selected":      (*ChatInputSelectedAnswerValue)(nil),
		"selected-many": (*ChatInputSelectedManyAnswerValue)(nil),
	}),
	reflect.TypeFor[ChatInputQuestion](): newUnion("kind", map[string]ChatInputQuestionValue{
		"text":          (*ChatInputTextQuestion)(nil),
		"number":        (*ChatInputNumberQuestion)(nil),
		"integer":       (*ChatInputNumberQuestion)(nil),
		"boolean":       (*ChatInputBooleanQuestion)(nil),
		"single-select": (*ChatInputSingleSelectQuestion)(nil),
		"multi-select":  (*ChatInputMultiSelectQuestion)(nil),
	}),
	reflect.TypeFor[ChatOrigin](): newUnion("kind", map[string]ChatOriginValue{
		"user":     (*ChatOriginUser)(nil),
		"fork":     (*ChatOriginFork)(nil),
		"sideChat": (*ChatOriginSideChat)(nil),
		"tool":     (*ChatOriginTool)(nil),
	}),
	reflect.TypeFor[ChatSource](): newUnion("kind", map[string]ChatSourceValue{
		"fork":     (*ForkChatSource)(nil),
		"sideChat": (*SideChatSource)(nil),
	}),
	reflect.TypeFor[ChildCustomization](): newUnion("type", map[string]ChildCustomizationValue{
		"agent":     (*AgentCustomization)(nil),
		"skill":     (*SkillCustomization)(nil),
		"prompt":    (*PromptCustomization)(nil),
		"rule":      (*RuleCustomization)(nil),
		"hook":      (*HookCustomization)(nil),
		"mcpServer": (*McpServerCustomization)(nil),
	}),
	reflect.TypeFor[Customization](): newUnion("type", map[string]CustomizationValue{
		"plugin":    (*PluginCustomization)(nil),
		"directory": (*DirectoryCustomization)(nil),
		"mcpServer": (*McpServerCustomization)(nil),
	}),
	reflect.TypeFor[CustomizationEnablement](): newUnion("kind", map[string]CustomizationEnablementValue{
		"global":    (*CustomizationGlobalEnablement)(nil),
		"workspace": (*CustomizationWorkspaceEnablement)(nil),
		"session":   (*CustomizationSessionEnablement)(nil),
	}),
	reflect.TypeFor[CustomizationLoadState](): newUnion("kind", map[string]CustomizationLoadStateValue{
		"loading":  (*CustomizationLoadingState)(nil),
		"loaded":   (*CustomizationLoadedState)(nil),
		"degraded": (*CustomizationDegradedState)(nil),
		"error":    (*CustomizationErrorState)(nil),
	}),
	reflect.TypeFor[McpServerState](): newUnion("kind", map[string]McpServerStateValue{
		"starting":     (*McpServerStartingState)(nil),
		"ready":        (*McpServerReadyState)(nil),
		"authRequired": (*McpServerAuthRequiredState)(nil),
		"error":        (*McpServerErrorState)(nil),
		"stopped":      (*McpServerStoppedState)(nil),
	}),
	reflect.TypeFor[MessageAttachment](): newUnion("type", map[string]MessageAttachmentValue{
		"simple":           (*SimpleMessageAttachment)(nil),
		"embeddedResource": (*MessageEmbeddedResourceAttachment)(nil),
		"resource":         (*MessageResourceAttachment)(nil),
		"annotations":      (*MessageAnnotationsAttachment)(nil),
		"chat":             (*MessageChatAttachment)(nil),
	}),
	reflect.TypeFor[MoveChatDestination](): newUnion("kind", map[string]MoveChatDestinationValue{
		"session":    (*MoveChatSessionDestination)(nil),
		"newSession": (*MoveChatNewSessionDestination)(nil),
	}),
	reflect.TypeFor[ReconnectResult](): newUnion("type", map[string]ReconnectResultValue{
		"replay":   (*ReconnectReplayResult)(nil),
		"snapshot": (*ReconnectSnapshotResult)(nil),
	}),
	reflect.TypeFor[ResponsePart](): newUnion("kind", map[string]ResponsePartValue{
		"markdown":           (*MarkdownResponsePart)(nil),
		"contentRef":         (*ResourceResponsePart)(nil),
		"toolCall":           (*ToolCallResponsePart)(nil),
		"reasoning":          (*ReasoningResponsePart)(nil),
		"systemNotification": (*SystemNotificationResponsePart)(nil),
		"inputRequest":       (*InputRequestResponsePart)(nil),
		"error":              (*ErrorResponsePart)(nil),
	}),
	reflect.TypeFor[SessionInputRequest](): newUnion("kind", map[string]SessionInputRequestValue{
		"chatInput":           (*SessionChatInputRequest)(nil),
		"toolConfirmation":    (*SessionToolConfirmationRequest)(nil),
		"toolClientExecution": (*SessionToolClientExecutionRequest)(nil),
		"toolAuthentication":  (*SessionToolAuthenticationRequest)(nil),
	}),
	reflect.TypeFor[SessionOrigin](): newUnion("kind", map[string]SessionOriginValue{
		"automation": (*SessionAutomationOrigin)(nil),
	}),
	reflect.TypeFor[TerminalClaim](): newUnion("kind", map[string]TerminalClaimValue{
		"client":  (*TerminalClientClaim)(nil),
		"session": (*TerminalSessionClaim)(nil),
	}),
	reflect.TypeFor[TerminalContentPart](): newUnion("type", map[string]TerminalContentPartValue{
		"unclassified": (*TerminalUnclassifiedPart)(nil),
		"command":      (*TerminalCommandPart)(nil),
	}),
	reflect.TypeFor[ToolCallConfirmationState](): newUnion("status", map[string]ToolCallConfirmationStateValue{
		"pending-confirmation":        (*ToolCallPendingConfirmationState)(nil),
		"pending-result-confirmation": (*ToolCallPendingResultConfirmationState)(nil),
	}),
	reflect.TypeFor[ToolCallContributor](): newUnion("kind", map[string]ToolCallContributorValue{
		"client": (*ToolCallClientContributor)(nil),
		"mcp":    (*ToolCallMcpContributor)(nil),
	}),
	reflect.TypeFor[ToolCallRiskAssessment](): newUnion("status", map[string]ToolCallRiskAssessmentValue{
		"loading":  (*ToolCallRiskAssessmentLoadingState)(nil),
		"complete": (*ToolCallRiskAssessmentCompleteState)(nil),
	}),
	reflect.TypeFor[ToolCallState](): newUnion("status", map[string]ToolCallStateValue{
		"streaming":                   (*ToolCallStreamingState)(nil),
		"pending-confirmation":        (*ToolCallPendingConfirmationState)(nil),
		"running":                     (*ToolCallRunningState)(nil),
		"auth-required":               (*ToolCallAuthRequiredState)(nil),
		"pending-result-confirmation": (*ToolCallPendingResultConfirmationState)(nil),
		"completed":                   (*ToolCallCompletedState)(nil),
		"cancelled":                   (*ToolCallCancelledState)(nil),
	}),
	reflect.TypeFor[ToolResultContent](): newUnion("type", map[string]ToolResultContentValue{
		"text":             (*ToolResultTextContent)(nil),
		"embeddedResource": (*ToolResultEmbeddedResourceContent)(nil),
		"resource":         (*ToolResultResourceContent)(nil),
		"fileEdit":         (*ToolResultFileEditContent)(nil),
		"terminal":         (*ToolResultTerminalContent)(nil),
		"subagent":         (*ToolResultSubagentContent)(nil),
	}),
}
