package main

import (
	"fmt"
	"os"
	"reflect"
	"strconv"
	"strings"
	"unicode"

	"github.com/spf13/pflag"
)

// option is a flag of a command: a field of its struct, described by the field's tags.
type option struct {
	name        string
	help        string
	placeholder string
	initial     string // the default, as text
	variable    string // environment variable, if its name is not derived from the flag's
	field       reflect.Value
}

// env returns the environment variable that sets o.
func (o *option) env() string {
	if o.variable != "" {
		return o.variable
	}
	return "AHPHUB_" + strings.ToUpper(strings.ReplaceAll(o.name, "-", "_"))
}

// These methods make an option a pflag.Value.

func (o *option) String() string { return "" }

// Type returns the placeholder that the help shows after the flag.
func (o *option) Type() string {
	switch o.field.Kind() {
	case reflect.Bool:
		return "bool" // the help shows no value
	case reflect.Slice:
		return o.placeholder + ",..."
	}
	return o.placeholder
}

// Set sets the field, or adds comma-separated values to a list.
func (o *option) Set(text string) error {
	switch o.field.Kind() {
	case reflect.String:
		o.field.SetString(text)
	case reflect.Bool:
		on, err := strconv.ParseBool(text)
		if err != nil {
			return fmt.Errorf("%q is neither true nor false", text)
		}
		o.field.SetBool(on)
	case reflect.Int:
		n, err := strconv.Atoi(text)
		if err != nil {
			return fmt.Errorf("%q is not a whole number", text)
		}
		o.field.SetInt(int64(n))
	case reflect.Slice:
		if text != "" {
			o.field.Set(reflect.AppendSlice(o.field, reflect.ValueOf(strings.Split(text, ","))))
		}
	}
	return nil
}

// optionsOf returns the flags of a command, including those of embedded structs.
func optionsOf(command reflect.Value, prefix string, vars map[string]string) (all []*option) {
	for i := range command.NumField() {
		field := command.Type().Field(i)
		tag := field.Tag
		if _, embedded := tag.Lookup("embed"); embedded {
			all = append(all, optionsOf(command.Field(i), prefix+tag.Get("prefix"), vars)...)
			continue
		}
		_, isCommand := tag.Lookup("cmd")
		_, isArgument := tag.Lookup("arg")
		if isCommand || isArgument || !field.IsExported() {
			continue
		}
		o := &option{name: tag.Get("name"), placeholder: tag.Get("placeholder"), initial: tag.Get("default"),
			variable: tag.Get("env"), field: command.Field(i)}
		if o.name == "" {
			o.name = dashed(field.Name)
		}
		o.name = prefix + o.name
		for name, value := range vars {
			o.initial = strings.ReplaceAll(o.initial, "${"+name+"}", value)
		}
		o.help = strings.ReplaceAll(tag.Get("help"), "${default}", o.initial)
		all = append(all, o)
	}
	return all
}

// dashed converts a field's name to a flag's: LogFormat to log-format.
func dashed(name string) string {
	var b strings.Builder
	for i, r := range name {
		if unicode.IsUpper(r) && i > 0 {
			b.WriteByte('-')
		}
		b.WriteRune(unicode.ToLower(r))
	}
	return b.String()
}

// newFlagSet returns a flag set of options, in the order of their struct.
func newFlagSet(options []*option) *pflag.FlagSet {
	set := pflag.NewFlagSet("ahphub", pflag.ContinueOnError)
	set.Usage = func() {}
	set.SortFlags = false
	help := option{name: "help", field: reflect.ValueOf(new(bool)).Elem()}
	set.VarPF(&help, help.name, "h", "Show help.").NoOptDefVal = "true"
	for _, o := range options {
		flag := set.VarPF(o, o.name, "", strings.TrimSuffix(o.help, ".")+" ($"+o.env()+").")
		if o.field.Kind() == reflect.Bool {
			flag.NoOptDefVal = "true"
		}
	}
	return set
}

// fillIn sets the options missing on the command line from the environment, the configuration file
// or the default.
func fillIn(set *pflag.FlagSet, options []*option, file configFile) error {
	for _, o := range options {
		if set.Changed(o.name) {
			continue
		}
		text, source := o.initial, "its default"
		if value, found := file.value(o.name); found {
			text, source = value, "the configuration file "+file.path
		}
		if value, found := os.LookupEnv(o.env()); found {
			text, source = value, o.env()
		}
		if text == "" {
			continue
		}
		if err := o.Set(text); err != nil {
			return fmt.Errorf("--%s, by %s: %w", o.name, source, err)
		}
	}
	return nil
}
