package pipe

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"strings"

	"storj.io/drpc/drpcerr"

	"github.com/ahphub/ahphub/hub/agent"
	"github.com/ahphub/ahphub/hub/ahp"
	"github.com/ahphub/ahphub/hub/machine"
)

// ErrClosed reports that the connection to the other side has ended.
var ErrClosed = errors.New("the connection has ended")

var errTooLarge = errors.New("this is too large to be sent to another computer")

// mostErrorText bounds the text of an error of the other side.
const mostErrorText = 64 << 10

// sentinels are errors that the other side recognizes with errors.Is, by their names on the wire.
var sentinels = []struct {
	name string
	err  error
}{
	{"canceled", context.Canceled}, {"deadline", context.DeadlineExceeded}, {"eof", io.EOF},
	{"not-exist", fs.ErrNotExist}, {"exist", fs.ErrExist}, {"permission", fs.ErrPermission}, {"closed", ErrClosed},
	{"lost", ErrLost},
	{"no-content", machine.ErrNoContent}, {"too-large", machine.ErrTooLarge}, {"stale", machine.ErrStale},
	{"conflict", machine.ErrConflict}, {"detached", agent.ErrDetached}, {"offline", machine.ErrOffline},
}

// typed are errors that the other side recognizes with errors.As. They have only exported fields.
var typed = []struct {
	name string
	as   func(error) any // the error in the chain, or nil
	make func([]byte) error
}{
	typedOf[*ahp.Error]("ahp"), typedOf[*machine.OutsideError]("outside"),
	typedOf[*machine.SpecialFileError]("special"),
	typedOf[*machine.SlowError]("slow"), typedOf[*machine.RefusedError]("refused"),
	typedOf[*machine.ServerNeedsToken]("token"), typedOf[*agent.Failure]("failure"),
}

func typedOf[T interface {
	*E
	error
}, E any](name string) (out struct {
	name string
	as   func(error) any
	make func([]byte) error
}) {
	out.name = name
	out.as = func(err error) any {
		if e, ok := errors.AsType[T](err); ok {
			return e
		}
		return nil
	}
	out.make = func(raw []byte) error {
		e := new(E)
		if json.Unmarshal(raw, e) != nil {
			return nil
		}
		return T(e)
	}
	return out
}

// Error is an error on the wire: its text and its identity.
type Error struct {
	Text  string            `cbor:"t"`
	Is    []string          `cbor:"i,omitempty"`
	Typed map[string][]byte `cbor:"a,omitempty"`
}

// EncodeError returns the wire form of an error; nil for nil.
func EncodeError(err error) *Error {
	if err == nil {
		return nil
	}
	out := &Error{Text: err.Error()}
	if len(out.Text) > mostErrorText {
		out.Text = strings.ToValidUTF8(out.Text[:mostErrorText], "")
	}
	for _, s := range sentinels {
		if errors.Is(err, s.err) {
			out.Is = append(out.Is, s.name)
		}
	}
	for _, t := range typed {
		if e := t.as(err); e != nil {
			if raw, err := json.Marshal(e); err == nil {
				if out.Typed == nil {
					out.Typed = map[string][]byte{}
				}
				out.Typed[t.name] = raw
			}
		}
	}
	return out
}

// Decode returns the error, with its identity in its chain.
func (e *Error) Decode() error {
	if e == nil {
		return nil
	}
	out := &received{text: e.Text}
	if len(out.text) > mostErrorText {
		out.text = out.text[:mostErrorText]
	}
	for _, t := range typed {
		if raw, ok := e.Typed[t.name]; ok {
			if err := t.make(raw); err != nil {
				out.chain = append(out.chain, err)
			}
		}
	}
	for _, s := range sentinels {
		for _, name := range e.Is {
			if name == s.name {
				out.chain = append(out.chain, s.err)
				break
			}
		}
	}
	for _, err := range out.chain {
		if err.Error() == out.text {
			return err // this error itself, not a wrapper
		}
	}
	return out
}

// received is an error of the other side.
type received struct {
	text  string
	chain []error
}

// Error returns the other side's text.
func (e *received) Error() string { return e.text }

// Unwrap returns the errors that it matches.
func (e *received) Unwrap() []error { return e.chain }

// codeEncoded marks an error whose text is an Error.
const codeEncoded = 1

// packError returns an error that drpc sends unchanged.
func packError(err error) error {
	b, merr := Marshal(EncodeError(err))
	if merr != nil {
		return err
	}
	return drpcerr.WithCode(errors.New(string(b)), codeEncoded)
}

// unpackError returns an error of a stream: what the other side's handler returned, or why the stream ended.
func unpackError(ctx context.Context, err error) error {
	switch {
	case err == nil || errors.Is(err, io.EOF):
		return err
	case drpcerr.Code(err) == codeEncoded:
		var e Error
		if uerr := Unmarshal([]byte(err.Error()), &e); uerr != nil {
			return uerr
		}
		return e.Decode()
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case errors.Is(err, errTooLarge):
		return errTooLarge
	}
	return ErrClosed
}
