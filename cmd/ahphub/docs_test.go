package main

import (
	"os"
	"reflect"
	"strings"
	"testing"
)

// The documentation has every flag of ahphub serve, and every command.
func TestSettingsAreDocumented(t *testing.T) {
	read := func(name string) string {
		t.Helper()
		b, err := os.ReadFile("../../docs/" + name)
		if err != nil {
			t.Fatal(err)
		}
		return string(b)
	}
	settings := read("settings.md")
	elsewhere := read("cluster.md") + read("notifications.md")
	all := verb{value: reflect.ValueOf(&cli{}).Elem()}
	for _, v := range all.leaves() {
		if words := strings.Fields(v.name); !v.hidden {
			for _, word := range words {
				if !strings.Contains(settings, word) {
					t.Errorf("docs/settings.md lacks the command ahphub %s", v.name)
				}
			}
		}
		if v.name != "serve" {
			continue
		}
		for _, o := range v.options() {
			if flag := "`--" + o.name; !strings.Contains(settings, flag+"`") && !strings.Contains(elsewhere, flag) {
				t.Errorf("neither docs/settings.md nor a page that it leads to has %s`", flag)
			}
		}
	}
}
