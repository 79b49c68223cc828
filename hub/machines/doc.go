// Package machines keeps which computers belong to a hub: the tokens that let them join, the key of each, who is
// connected, and what its owner decided about it.
//
// A token works once, within an hour, and carries the hub's own key, so that a computer that joins knows whom it talks
// to. From then on its ed25519 key is what it is known by. hub/machine/join proves both.
package machines
