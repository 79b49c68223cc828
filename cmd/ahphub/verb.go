package main

import (
	"errors"
	"fmt"
	"io"
	"reflect"
	"strings"
	"text/tabwriter"
)

// verb is a command: a struct whose fields are its flags and arguments, or further commands. Their
// tags name and describe them. It calls no method by a name found at run time: that would make the
// linker keep every exported method, which doubled the size of this program.
type verb struct {
	name  string // as typed, "secrets set"; "" for the program
	help  string
	value reflect.Value

	hidden bool // the help does not list it
}

// verbs returns the subcommands of v.
func (v verb) verbs() (all []verb) {
	for i := range v.value.NumField() {
		field := v.value.Type().Field(i)
		if _, is := field.Tag.Lookup("cmd"); is {
			_, hidden := field.Tag.Lookup("hidden")
			all = append(all, verb{strings.TrimSpace(v.name + " " + dashed(field.Name)), field.Tag.Get("help"),
				v.value.Field(i), hidden})
		}
	}
	return all
}

// leaves returns the runnable commands of v, at any depth.
func (v verb) leaves() (all []verb) {
	inner := v.verbs()
	if len(inner) == 0 {
		return []verb{v}
	}
	for _, w := range inner {
		all = append(all, w.leaves()...)
	}
	return all
}

func (v verb) options() []*option {
	return optionsOf(v.value, "", map[string]string{"data": defaultDataDir()})
}

// everyOption returns the flags of all commands.
func (v verb) everyOption() (all []*option) {
	for _, w := range v.leaves() {
		all = append(all, w.options()...)
	}
	return all
}

// arguments returns the fields set by arguments, and their descriptions.
func (v verb) arguments() (fields []reflect.Value, about []reflect.StructField) {
	for i := range v.value.NumField() {
		field := v.value.Type().Field(i)
		if _, is := field.Tag.Lookup("arg"); is {
			fields, about = append(fields, v.value.Field(i)), append(about, field)
		}
	}
	return fields, about
}

// choose finds the command named at the start of args.
func (v verb) choose(args []string) (chosen verb, rest []string) {
	if len(args) > 0 {
		for _, w := range v.verbs() {
			if w.name == strings.TrimSpace(v.name+" "+args[0]) {
				return w.choose(args[1:])
			}
		}
	}
	return v, args
}

// parse sets the command's fields. It returns true after --help.
func (v verb) parse(args []string, file configFile, stdout io.Writer) (done bool, err error) {
	options := v.options()
	set := newFlagSet(options)
	if err := set.Parse(args); err != nil {
		return false, err
	}
	if set.Changed("help") {
		return true, v.printHelp(stdout, set.FlagUsagesWrapped(helpWidth))
	}
	if inner := v.verbs(); len(inner) > 0 {
		return false, fmt.Errorf("use one of %s", strings.Join(names(inner), ", "))
	}
	fields, about := v.arguments()
	for i, field := range fields {
		if i >= set.NArg() {
			return false, fmt.Errorf("ahphub %s needs <%s>", v.name, dashed(about[i].Name))
		}
		field.SetString(set.Arg(i))
	}
	if set.NArg() > len(fields) {
		return false, errors.New("unexpected argument " + set.Arg(len(fields)))
	}
	return false, fillIn(set, options, file)
}

const helpWidth = 100

// printHelp describes v; flags is the help of its flags.
func (v verb) printHelp(to io.Writer, flags string) error {
	var b strings.Builder
	fmt.Fprint(&b, strings.TrimSuffix("Usage: ahphub "+v.name, " "))
	_, about := v.arguments()
	for _, a := range about {
		fmt.Fprintf(&b, " <%s>", dashed(a.Name))
	}
	inner := v.verbs()
	if len(inner) > 0 {
		b.WriteString(" <command>")
	}
	fmt.Fprintf(&b, " [flags]\n\n%s\n", v.help)
	columns := tabwriter.NewWriter(&b, 0, 0, 3, ' ', 0)
	if len(about) > 0 {
		fmt.Fprint(columns, "\nArguments:\n")
	}
	for _, a := range about {
		fmt.Fprintf(columns, "  <%s>\t%s\n", dashed(a.Name), a.Tag.Get("help"))
	}
	if len(inner) > 0 {
		fmt.Fprint(columns, "\nCommands:\n")
		for _, w := range v.leaves() {
			if w.hidden {
				continue
			}
			fmt.Fprintf(columns, "  %s\t%s\n", w.name, w.help)
		}
	}
	columns.Flush()
	fmt.Fprintf(&b, "\nFlags:\n%s", flags)
	if len(inner) > 0 {
		b.WriteString("\nahphub <command> --help describes the flags of a command. Those of serve need no command.\n")
	}
	_, err := io.WriteString(to, b.String())
	return err
}

func names(verbs []verb) (all []string) {
	for _, v := range verbs {
		all = append(all, "ahphub "+v.name)
	}
	return all
}
