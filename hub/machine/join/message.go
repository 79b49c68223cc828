package join

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/ahphub/ahphub/hub/machines"
)

// mostMessage bounds a hello and a welcome.
const mostMessage = 64 << 10

// hello is a machine's first message.
type hello struct {
	Secret []byte          `json:"secret,omitempty"` // of the token; "" from a machine that has joined
	Name   string          `json:"name,omitempty"`   // the name it requests; with a token only
	Report machines.Report `json:"report"`
	Speaks Range           `json:"speaks,omitzero"`
}

// Welcome is the hub's answer.
type Welcome struct {
	ID    string `json:"id,omitempty"`
	Name  string `json:"name,omitempty"`
	Error string `json:"error,omitempty"` // why the hub refused the machine, for the person at the machine
	Gone  bool   `json:"gone,omitempty"`  // a retry is useless

	Version string `json:"version,omitempty"` // of ahphub on the hub
	Speaks  Range  `json:"speaks,omitzero"`
}

func writeMessage(w io.Writer, v any) error {
	b, err := json.Marshal(v)
	if err != nil {
		return err
	}
	if len(b) > mostMessage {
		return fmt.Errorf("a message of %d bytes is too long", len(b))
	}
	_, err = w.Write(append(binary.BigEndian.AppendUint32(nil, uint32(len(b))), b...))
	return err
}

func readMessage(r io.Reader, v any) error {
	var head [4]byte
	if _, err := io.ReadFull(r, head[:]); err != nil {
		return err
	}
	n := binary.BigEndian.Uint32(head[:])
	if n > mostMessage {
		return errors.New("the other side sent a message that is too long")
	}
	b := make([]byte, n)
	if _, err := io.ReadFull(r, b); err != nil {
		return err
	}
	if err := json.NewDecoder(bytes.NewReader(b)).Decode(v); err != nil {
		return errors.New("the other side sent a message that is not understood")
	}
	return nil
}
