// Package ahp is the Agent Host Protocol 1.0 as Go values: the states of every channel, the actions that change them,
// commands, notifications and errors, and one pure reducer.
//
// A state is a value of one of the ten State types. It is immutable once published: Reduce returns
// a new root that shares everything the action did not touch, or the same pointer when the action
// changed nothing. So a snapshot is a pointer copy, and comparing pointers shows whether anything
// changed. Never write to a state, or to anything reachable from an action, after it was passed to
// Reduce.
//
//	s := ahp.NewState(ahp.ChannelChat)
//	s = ahp.Reduce(s, &ahp.ChatTurnStartedAction{TurnID: "t1", StartedAt: now, Message: msg})
//
// States are display-ready: they hold everything a page shows, in the order it is shown.
//
// Conventions. A Go field is the JSON name with initialisms in capitals. Optional strings are empty when absent,
// optional numbers, flags and structs are pointers (see Ptr), optional lists and maps are nil when absent; a
// required list is written as [] even when nil. A union is a struct with one field, Value, holding a pointer to
// one of its variants, and *UnknownVariant keeps what a newer peer sent, byte for byte. The discriminator follows
// from the Go type and is written by the encoder. Marshal and Unmarshal are the package's codec; every type that
// needs it also works inside encoding/json.
//
// Streamed text is a Text: appending is cheap and older views stay valid.
package ahp
