package access

import (
	"fmt"

	"github.com/ahphub/ahphub/hub"
	"github.com/ahphub/ahphub/hub/ahp"
)

// methodRights names the right to call each JSON-RPC method. Those marked hostwide need no
// channel of a session: what they answer is cut to the caller's audience.
var methodRights = map[string]struct {
	need     Right
	hostwide bool
}{
	"initialize":     {RightRead, true},
	"ping":           {RightRead, true},
	"reconnect":      {RightRead, true},
	"unsubscribe":    {RightRead, true},
	"listSessions":   {RightRead, true},
	"dispatchAction": {RightRead, true}, // the action itself is asked of MayAct
	"subscribe":      {RightRead, false},
	"fetchTurns":     {RightRead, false},
	"resourceRead":   {RightRead, false}, // contents of a session: file versions, large outputs
	"completions":    {RightPrompt, false},
	"createChat":     {RightPrompt, false},

	"createTerminal":  {RightType, false},
	"disposeTerminal": {RightType, false},

	"resourceRequest": {RightAccount, true}, // the owner is asked; what they grant is theirs alone

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

// MayCall reports whether p may call a method about a channel: the one it names, or the
// session that a resource belongs to. The zero ChannelInfo stands for the whole host.
func MayCall(p Principal, method string, ch hub.ChannelInfo) error {
	row, ok := methodRights[method]
	if !ok {
		return &Denied{rightHost, fmt.Sprintf("this host has no method %q", method)}
	}
	if row.hostwide && ch.Kind == "" && ch.Session == "" {
		ch = hub.ChannelInfo{URI: ahp.RootURI, Kind: ahp.ChannelRoot}
	}
	return p.may(row.need, ch)
}
