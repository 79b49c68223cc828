// Package machines stores which computers belong to a hub: the tokens to join, each computer's key, its connection, and
// its owner's decisions.
//
// A token works once, within an hour, and contains the hub's key, so that a joining computer can authenticate the hub.
// Later its ed25519 key identifies the computer. hub/machine/join verifies both keys.
package machines
