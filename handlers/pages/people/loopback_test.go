package people

import (
	"testing"
)

func TestOnlyThisMachineIsNoticed(t *testing.T) {
	for address, want := range map[string]bool{"http://127.0.0.1:8137": true, "http://[::1]:80": true,
		"http://localhost:1": true, "http://0.0.0.0:1": true, "https://hub.example.com": false,
		"http://192.168.1.4:8137": false} {
		if loopback(address) != want {
			t.Errorf("%s: local %v, want %v", address, !want, want)
		}
	}
}
