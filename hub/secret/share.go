package secret

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"strings"
)

// The nodes of a cluster have copies of the keys, and any of them may lead. So nothing is sealed with a new key before every node
// has it, and no key is forgotten before every node seals with a newer one.

// Offer is what the node that leads asks another one to do with its copy of the keys.
type Offer struct {
	Keys string `json:"keys,omitempty"` // lines of a file of keys, the first one seals; "": only say which are there
	Only bool   `json:"only,omitempty"` // forget all others
}

// String returns nothing of the keys.
func (Offer) String() string { return "keys of secrets" }

// GoString returns nothing of the keys.
func (Offer) GoString() string { return "keys of secrets" }

// LogValue returns nothing of the keys.
func (Offer) LogValue() slog.Value { return slog.StringValue("keys of secrets") }

// Held is which keys a copy has, by their ids.
type Held struct {
	IDs    []string `json:"ids"`    // the first one seals
	Source string   `json:"source"` // path of the file
	Owners bool     `json:"owners"` // only the owner changes the file
}

// Copy is what a node answered to an offer.
type Copy struct {
	Node string
	Held Held
	Err  error
}

// Copies makes an offer to all other nodes.
type Copies func(context.Context, Offer) []Copy

// Share keeps older keys until RotateShared forgets them, because others have copies.
func (k *Keys) Share() {
	k.rotating.Lock()
	defer k.rotating.Unlock()
	k.shared = true
}

// Take takes an offer of the node that leads. A file of the owner is read again instead of written.
func (k *Keys) Take(o Offer) (Held, error) {
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
			err = Refusef("the key %s, which encrypts now, is not in %s any more. Put it back below the new one", have[0].id, k.from)
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

// RotateShared seals everything with a new key, which every node is given first. The new key of a file of the owner is in its
// first line, at every node.
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
		if err := k.check(copies(ctx, Offer{}), nil, false); err != nil { // they answer
			return Progress{}, Refusef("the key was not changed: %w", err)
		}
		with := append(slices.Clone(old), fresh) // nobody seals with it yet
		if err := k.replace(with); err != nil {
			return Progress{}, err
		}
		if err := k.check(copies(ctx, offerOf(with)), with, false); err != nil {
			return Progress{}, Refusef("the key was not changed: %w", err)
		}
	case len(old) == 1:
		return Progress{}, Refusef("there is no new key in %s. Put one in its first line, at every node, and keep the old one below it", k.from)
	default:
		if err := k.check(copies(ctx, Offer{}), order, true); err != nil {
			return Progress{}, Refusef("the key was not changed: %w", err)
		}
	}
	if err := k.replace(order); err != nil {
		return Progress{}, err
	}
	if err := k.check(copies(ctx, offerOf(order)), order, true); err != nil {
		return Progress{}, Refusef("every node has the new key, and not every node uses it yet: %w", err)
	}
	p, err := k.finish(ctx, sealers)
	if err != nil || k.path == "" {
		return p, err
	}
	if err := k.check(copies(ctx, offerOf(order)), order, true); err != nil { // also those that joined meanwhile
		return p, Refusef("everything is encrypted with the new key, and the old one is kept: %w", err)
	}
	if err := k.replace(order[:1]); err != nil {
		return p, err
	}
	forget := offerOf(order[:1])
	forget.Only = true
	p.Spare = 0
	if err := k.check(copies(ctx, forget), order[:1], true); err != nil {
		return p, Refusef("everything is encrypted with the new key, and not every node has forgotten the old one: %w", err)
	}
	return p, nil
}

func offerOf(list []key) Offer { return Offer{Keys: formatKeys(list)} }

// check returns what keeps copies from being used: they lack keys, or the first one does not seal where it should.
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
	return fmt.Errorf("%s. Mend that or remove the node from the cluster, then rotate again", strings.Join(bad, "; "))
}

func (k *Keys) problem(c Copy, want []string, sealing bool) string {
	if c.Err != nil {
		return "did not answer (" + c.Err.Error() + ")"
	}
	if c.Held.Owners != (k.path == "") {
		return fmt.Sprintf("has its key in %s, and the node that leads in %s: use --secrets-key-file at every node, or at none", c.Held.Source,
			k.from)
	}
	for _, id := range want {
		if !slices.Contains(c.Held.IDs, id) {
			return fmt.Sprintf("lacks the key %s in %s", id, c.Held.Source)
		}
	}
	if sealing && c.Held.IDs[0] != want[0] {
		return fmt.Sprintf("has another key than %s in the first line of %s", want[0], c.Held.Source)
	}
	return ""
}

// replace makes list the keys; they are durable on return. A file of the owner is not written.
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
