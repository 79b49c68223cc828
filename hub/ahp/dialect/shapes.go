package dialect

import "github.com/ahphub/ahphub/hub/ahp"

// shapes maps the places of states, actions, commands and notifications to their shapes.
var shapes = func() map[string]*ahp.Shape {
	m := map[string]*ahp.Shape{}
	for _, info := range ahp.Actions() {
		m[info.Type] = ahp.ShapeOf(info.New())
		m[string(info.Channel)] = ahp.ShapeOf(ahp.NewState(info.Channel))
	}
	for method, v := range params {
		m[paramsOf+method] = ahp.ShapeOf(v)
	}
	for method, v := range results {
		m[resultOf+method] = ahp.ShapeOf(v)
	}
	for method, v := range notifications {
		m[notificationOf+method] = ahp.ShapeOf(v)
	}
	return learnShapes(m)
}()

// shapeAt returns the shape of a place; nil if the current version does not have it.
func shapeAt(place string) *ahp.Shape { return shapes[place] }

var params = map[string]any{
	"authenticate":                     ahp.AuthenticateParams{},
	"completions":                      ahp.CompletionsParams{},
	"createChat":                       ahp.CreateChatParams{},
	"createResourceWatch":              ahp.CreateResourceWatchParams{},
	"createSession":                    ahp.CreateSessionParams{},
	"createTerminal":                   ahp.CreateTerminalParams{},
	"dispatchAction":                   ahp.DispatchActionParams{},
	"disposeChat":                      ahp.DisposeChatParams{},
	"disposeSession":                   ahp.DisposeSessionParams{},
	"disposeTerminal":                  ahp.DisposeTerminalParams{},
	"fetchAutomationRuns":              ahp.FetchAutomationRunsParams{},
	"fetchTurns":                       ahp.FetchTurnsParams{},
	"initialize":                       ahp.InitializeParams{},
	"invokeChangesetOperation":         ahp.InvokeChangesetOperationParams{},
	"listAutomationTriggerDefinitions": ahp.ListAutomationTriggerDefinitionsParams{},
	"listSessions":                     ahp.ListSessionsParams{},
	"moveChat":                         ahp.MoveChatParams{},
	"ping":                             ahp.PingParams{},
	"reconnect":                        ahp.ReconnectParams{},
	"resolveSessionConfig":             ahp.ResolveSessionConfigParams{},
	"resourceCopy":                     ahp.ResourceCopyParams{},
	"resourceDelete":                   ahp.ResourceDeleteParams{},
	"resourceList":                     ahp.ResourceListParams{},
	"resourceMkdir":                    ahp.ResourceMkdirParams{},
	"resourceMove":                     ahp.ResourceMoveParams{},
	"resourceRead":                     ahp.ResourceReadParams{},
	"resourceRequest":                  ahp.ResourceRequestParams{},
	"resourceResolve":                  ahp.ResourceResolveParams{},
	"resourceWrite":                    ahp.ResourceWriteParams{},
	"runAutomation":                    ahp.RunAutomationParams{},
	"sessionConfigCompletions":         ahp.SessionConfigCompletionsParams{},
	"subscribe":                        ahp.SubscribeParams{},
	"unsubscribe":                      ahp.UnsubscribeParams{},
}

var results = map[string]any{
	"authenticate":                     ahp.AuthenticateResult{},
	"completions":                      ahp.CompletionsResult{},
	"createResourceWatch":              ahp.CreateResourceWatchResult{},
	"fetchAutomationRuns":              ahp.FetchAutomationRunsResult{},
	"fetchTurns":                       ahp.FetchTurnsResult{},
	"initialize":                       ahp.InitializeResult{},
	"invokeChangesetOperation":         ahp.InvokeChangesetOperationResult{},
	"listAutomationTriggerDefinitions": ahp.ListAutomationTriggerDefinitionsResult{},
	"listSessions":                     ahp.ListSessionsResult{},
	"moveChat":                         ahp.MoveChatResult{},
	"reconnect":                        ahp.ReconnectResult{},
	"resolveSessionConfig":             ahp.ResolveSessionConfigResult{},
	"resourceCopy":                     ahp.ResourceCopyResult{},
	"resourceDelete":                   ahp.ResourceDeleteResult{},
	"resourceList":                     ahp.ResourceListResult{},
	"resourceMkdir":                    ahp.ResourceMkdirResult{},
	"resourceMove":                     ahp.ResourceMoveResult{},
	"resourceRead":                     ahp.ResourceReadResult{},
	"resourceRequest":                  ahp.ResourceRequestResult{},
	"resourceResolve":                  ahp.ResourceResolveResult{},
	"resourceWrite":                    ahp.ResourceWriteResult{},
	"runAutomation":                    ahp.RunAutomationResult{},
	"sessionConfigCompletions":         ahp.SessionConfigCompletionsResult{},
	"subscribe":                        ahp.SubscribeResult{},
}

var notifications = map[string]any{
	"otlp/exportLogs":            ahp.OtlpExportLogsParams{},
	"otlp/exportMetrics":         ahp.OtlpExportMetricsParams{},
	"otlp/exportTraces":          ahp.OtlpExportTracesParams{},
	"auth/required":              ahp.AuthRequiredParams{},
	"root/progress":              ahp.ProgressParams{},
	"root/sessionAdded":          ahp.SessionAddedParams{},
	"root/sessionRemoved":        ahp.SessionRemovedParams{},
	"root/sessionSummaryChanged": ahp.SessionSummaryChangedParams{},
}
