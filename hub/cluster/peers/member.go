package peers

import (
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"regexp"
	"strconv"
	"time"
)

// mostMembers is the maximum number of nodes in a cluster, including non-voters.
const mostMembers = 9

// Member is a node of the cluster.
type Member struct {
	Name        string    `json:"name"`        // also its ID in the log
	Address     string    `json:"address"`     // host:port at which other nodes reach it
	Incarnation string    `json:"incarnation"` // of this membership; also in its certificate
	Joined      time.Time `json:"joined"`
	Reads       bool      `json:"reads,omitempty"` // permanent non-voter
}

var nodeName = regexp.MustCompile(`^[a-z0-9]([a-z0-9-]{0,38}[a-z0-9])?$`)

// CheckName returns an error if name is not valid for a node.
func CheckName(name string) error {
	if !nodeName.MatchString(name) {
		return errors.New("a node's name has 1 to 40 lower-case letters, digits and hyphens, and no hyphen at either end")
	}
	return nil
}

// CheckAddress returns an error if other nodes cannot connect to address.
func CheckAddress(address string) error {
	host, port, err := net.SplitHostPort(address)
	n, perr := strconv.ParseUint(port, 10, 16)
	if err != nil || perr != nil || n == 0 || host == "" || len(address) > 260 {
		return fmt.Errorf("%q is not an address: use host:port, as other nodes reach this node", address)
	}
	if ip := net.ParseIP(host); ip != nil && ip.IsUnspecified() {
		return fmt.Errorf("other nodes cannot connect to %s: use the address at which they reach this node", address)
	}
	return nil
}

func decodeMember(value []byte) (m Member, err error) {
	if json.Unmarshal(value, &m) != nil || CheckName(m.Name) != nil || m.Incarnation == "" {
		return m, errors.New("the record of a node is damaged")
	}
	return m, nil
}
