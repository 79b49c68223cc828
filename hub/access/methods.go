package access

import (
	"fmt"

	"github.com/ahphub/ahphub/hub"
	"github.com/ahphub/ahphub/hub/ahp"
)

// methodRights maps each JSON-RPC method to the right that calling it needs. Methods marked
// hostwide need no channel of a session: their answers are cut to the caller's audience.
var methodRights = map[string]struct {
	need     Right
	hostwide bool
}{
	"initialize":     {RightRead, true},
	"ping":           {RightRead, true},
	"reconnect":      {RightRead, true},
	"unsubscribe":    {RightRead, true},
	"listSessions":   {RightRead, true},
	"dispatchAction": {RightRead, true}, // MayAct checks the action itself
	"subscribe":      {RightRead, false},
	"fetchTurns":     {RightRead, false},
	"resourceRead":   {RightRead, false}, // contents of a session: file versions, large outputs
	"completions":    {RightPrompt, false},
	"createChat":     {RightPrompt, false},

	"createTerminal":  {RightType, false},
	"disposeTerminal": {RightType, false},

	"resourceRequest": {RightAccount, true}, // asks the owner; the grant is only the caller's

	"resourceResolve":                  {RightManage, true},
	"resourceList":                     {RightManage, true},
	"resourceWrite":                    {RightManage, true},
	"resourceCopy":                     {RightManage, true},
	"resourceDelete":                   {RightManage, true},
	"resourceMove":                     {RightManage, true},
	"resourceMkdir":                    {RightManage, true},
	"createResourceWatch":              {RightManage, true},
	"createSession":                    {RightManage, true},
	"disposeSession":                   {RightManage, true},
	"disposeChat":                      {RightManage, true},
	"moveChat":                         {RightManage, true},
	"resolveSessionConfig":             {RightManage, true},
	"sessionConfigCompletions":         {RightManage, true},
	"invokeChangesetOperation":         {RightManage, true},
	"authenticate":                     {RightManage, true},
	"listAutomationTriggerDefinitions": {RightManage, true},
	"runAutomation":                    {RightManage, true},
	"fetchAutomationRuns":              {RightManage, true},
}

// MayCall reports why p may not call a method about a channel; nil when it may. The channel is the
// one the call names, or the session that a resource belongs to; the zero ChannelInfo is the whole
// host.
func MayCall(p Principal, method string, ch hub.ChannelInfo) error {
	row, ok := methodRights[method]
	if !ok {
		return &Denied{rightHost, fmt.Sprintf("this server has no method %q", method)}
	}
	if row.hostwide && ch.Kind == "" && ch.Session == "" {
		ch = hub.ChannelInfo{URI: ahp.RootURI, Kind: ahp.ChannelRoot}
	}
	return p.mayOn(row.need, ch)
}

// MayEverCall reports whether p may call a method about any channel at all.
func MayEverCall(p Principal, method string) bool {
	row, ok := methodRights[method]
	return ok && p.Has(row.need)
}
