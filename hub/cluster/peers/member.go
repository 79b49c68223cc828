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

// MostMembers bounds the nodes of a cluster, those that only read included.
const MostMembers = 9

// Member is a node that belongs to the cluster.
type Member struct {
	Name        string    `json:"name"`        // its id in the log
	Address     string    `json:"address"`     // host and port that the others reach it at
	Incarnation string    `json:"incarnation"` // of this membership; its certificate has it
	Joined      time.Time `json:"joined"`
	Reads       bool      `json:"reads,omitempty"` // it follows the log and never votes
}

var nodeName = regexp.MustCompile(`^[a-z0-9]([a-z0-9-]{0,38}[a-z0-9])?$`)

// CheckName refuses a name that a node cannot have.
func CheckName(name string) error {
	if !nodeName.MatchString(name) {
		return errors.New("the name of a node has 1 to 40 lower-case letters, digits and hyphens, with no hyphen at its ends")
	}
	return nil
}

// CheckAddress refuses an address that other nodes cannot connect to.
func CheckAddress(address string) error {
	host, port, err := net.SplitHostPort(address)
	n, perr := strconv.ParseUint(port, 10, 16)
	if err != nil || perr != nil || n == 0 || host == "" || len(address) > 260 {
		return fmt.Errorf("%q is not an address: write host:port, as the other nodes reach this one", address)
	}
	if ip := net.ParseIP(host); ip != nil && ip.IsUnspecified() {
		return fmt.Errorf("other nodes cannot connect to %s: write the address that they reach this node at", address)
	}
	return nil
}

func decodeMember(value []byte) (m Member, err error) {
	if json.Unmarshal(value, &m) != nil || CheckName(m.Name) != nil || m.Incarnation == "" {
		return m, errors.New("the record of a node cannot be read")
	}
	return m, nil
}
