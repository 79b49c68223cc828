package web

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"sync"
)

const (
	longestOrder = 1 << 20
	mostOrders   = 100
)

// orders adds an order's address to responses that lack it: RFC 8555 requires the address only when
// the order is created, and the client of golang.org/x/crypto expects it each time.
type orders struct {
	next    http.RoundTripper
	refused func() error // why requests are refused now; nil: they never are

	mu sync.Mutex
	at map[string]string // finalize address → the order's own
}

func (o *orders) RoundTrip(r *http.Request) (*http.Response, error) {
	if o.refused != nil {
		if err := o.refused(); err != nil {
			if r.Body != nil {
				r.Body.Close()
			}
			return nil, err
		}
	}
	res, err := o.next.RoundTrip(r)
	if err != nil || r.Method != http.MethodPost || res.StatusCode >= 300 {
		return res, err
	}
	body, err := io.ReadAll(io.LimitReader(res.Body, longestOrder))
	res.Body.Close()
	if err != nil {
		return nil, err
	}
	res.Body = io.NopCloser(bytes.NewReader(body))
	var order struct{ Finalize string }
	if json.Unmarshal(body, &order) == nil && order.Finalize != "" {
		o.locate(order.Finalize, res.Header)
	}
	return res, nil
}

func (o *orders) locate(finalize string, h http.Header) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if own := h.Get("Location"); own != "" {
		if o.at == nil || len(o.at) >= mostOrders {
			o.at = map[string]string{}
		}
		o.at[finalize] = own
		return
	}
	if own, ok := o.at[finalize]; ok {
		h.Set("Location", own)
	}
}
