package secret

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"strings"
)

// All nodes of a cluster have copies of the keys, and any node may lead. Therefore nothing is
// encrypted with a new key until every node has it, and no old key is deleted until every node
// encrypts with a newer one.

// Offer is the leader's request to change or report a node's copy of the keys.
type Offer struct {
	Keys string `json:"keys,omitempty"` // lines of a key file, the encrypting key first; "": only report
	Only bool   `json:"only,omitempty"` // delete all other keys
}

// String hides the keys.
func (Offer) String() string { return "keys of secrets" }

// GoString hides the keys.
func (Offer) GoString() string { return "keys of secrets" }

// LogValue hides the keys.
func (Offer) LogValue() slog.Value { return slog.StringValue("keys of secrets") }

// Held lists the keys of a copy by ID.
type Held struct {
	IDs    []string `json:"ids"`    // the encrypting key first
	Source string   `json:"source"` // path of the key file
	Owners bool     `json:"owners"` // the owner distributes the file
}

// Copy is a node's answer to an offer.
type Copy struct {
	Node string
	Held Held
	Err  error
}

// Copies sends an offer to all other nodes.
type Copies func(context.Context, Offer) []Copy

// Share marks the keys as shared with other nodes: old keys are then kept until RotateShared
// deletes them.
func (k *Keys) Share() {
	k.rotating.Lock()
	defer k.rotating.Unlock()
	k.shared = true
}

// Accept applies the leader's offer. A file that the owner distributes is read again, never
// written.
func (k *Keys) Accept(o Offer) (Held, error) {
	k.rotating.Lock()
	defer k.rotating.Unlock()
	list, err := k.offered(o)
	if err != nil {
		return Held{}, err
	}
	if o.Keys != "" {
		if err := k.replace(list); err != nil {
			return Held{}, err
		}
	}
	return Held{idsOf(list), k.from, k.path == ""}, nil
}

// offered returns the keys after an offer.
func (k *Keys) offered(o Offer) ([]key, error) {
	have := k.keys()
	if k.path == "" {
		list, err := readKeys(k.from)
		if err == nil && !slices.Contains(idsOf(list), have[0].id) {
			err = Refusef("the current key %s is no longer in %s. Put it back below the new key", have[0].id, k.from)
		}
		return list, err
	}
	if o.Keys == "" {
		return have, nil
	}
	list, err := parseKeys([]byte(o.Keys))
	if err != nil || o.Only {
		return list, err
	}
	for _, one := range have {
		if !slices.Contains(idsOf(list), one.id) {
			list = append(list, one)
		}
	}
	return list, nil
}

// RotateShared encrypts everything with a new key, after every node has it. If the owner
// distributes the key file, the new key must be in its first line on every node.
func (k *Keys) RotateShared(ctx context.Context, copies Copies, sealers ...Sealer) (Progress, error) {
	k.rotating.Lock()
	defer k.rotating.Unlock()
	old, err := k.offered(Offer{})
	if err != nil {
		return Progress{}, err
	}
	order := old
	switch {
	case k.path != "":
		fresh := randomKey()
		order = append([]key{fresh}, old...)
		if err := k.check(copies(ctx, Offer{}), nil, false); err != nil { // all nodes must answer
			return Progress{}, Refusef("the key was not changed: %w", err)
		}
		with := append(slices.Clone(old), fresh) // no node encrypts with it yet
		if err := k.replace(with); err != nil {
			return Progress{}, err
		}
		if err := k.check(copies(ctx, offerOf(with)), with, false); err != nil {
			return Progress{}, Refusef("the key was not changed: %w", err)
		}
	case len(old) == 1:
		return Progress{}, Refusef("there is no new key in %s. Put one in its first line on every node, "+
			"and keep the old key below it", k.from)
	default:
		if err := k.check(copies(ctx, Offer{}), order, true); err != nil {
			return Progress{}, Refusef("the key was not changed: %w", err)
		}
	}
	if err := k.replace(order); err != nil {
		return Progress{}, err
	}
	if err := k.check(copies(ctx, offerOf(order)), order, true); err != nil {
		return Progress{}, Refusef("every node has the new key, but not every node uses it yet: %w", err)
	}
	p, err := k.finish(ctx, sealers)
	if err != nil || k.path == "" {
		return p, err
	}
	if err := k.check(copies(ctx, offerOf(order)), order, true); err != nil { // including nodes that joined meanwhile
		return p, Refusef("everything is encrypted with the new key, but the old key is kept: %w", err)
	}
	if err := k.replace(order[:1]); err != nil {
		return p, err
	}
	forget := offerOf(order[:1])
	forget.Only = true
	p.Spare = 0
	if err := k.check(copies(ctx, forget), order[:1], true); err != nil {
		return p, Refusef("everything is encrypted with the new key, but not every node has deleted the old key: %w", err)
	}
	return p, nil
}

func offerOf(list []key) Offer { return Offer{Keys: formatKeys(list)} }

// check returns an error if copies lack keys of want or, with sealing, do not encrypt with the
// first one.
func (k *Keys) check(copies []Copy, want []key, sealing bool) error {
	var bad []string
	for _, c := range copies {
		if why := k.problem(c, idsOf(want), sealing); why != "" {
			bad = append(bad, fmt.Sprintf("node %s %s", c.Node, why))
		}
	}
	if len(bad) == 0 {
		return nil
	}
	return fmt.Errorf("%s. Fix this or remove the node from the cluster, then rotate again", strings.Join(bad, "; "))
}

func (k *Keys) problem(c Copy, want []string, sealing bool) string {
	if c.Err != nil {
		return "did not answer (" + c.Err.Error() + ")"
	}
	if c.Held.Owners != (k.path == "") {
		return fmt.Sprintf("has its key in %s, but the leader in %s: use --secrets-key-file on every node, or on none",
			c.Held.Source, k.from)
	}
	for _, id := range want {
		if !slices.Contains(c.Held.IDs, id) {
			return fmt.Sprintf("lacks the key %s in %s", id, c.Held.Source)
		}
	}
	if sealing && c.Held.IDs[0] != want[0] {
		return fmt.Sprintf("does not have the key %s in the first line of %s", want[0], c.Held.Source)
	}
	return ""
}

// replace sets the keys, and returns once they are durable. It never writes a file of the owner.
func (k *Keys) replace(list []key) error {
	if slices.Equal(idsOf(list), idsOf(k.keys())) {
		return nil
	}
	if k.path != "" {
		if err := k.write(list); err != nil {
			return err
		}
	}
	k.set(list)
	return nil
}

func (k *Keys) keys() []key {
	k.mu.RLock()
	defer k.mu.RUnlock()
	return k.list
}

func idsOf(list []key) []string {
	ids := make([]string, len(list))
	for i, one := range list {
		ids[i] = one.id
	}
	return ids
}
