package custom

import "cmp"

// Limits bounds the search of one root. Zero fields take the stated default.
type Limits struct {
	Files   int   // read in total: 1000
	Entries int   // of one directory or plugin: 200
	Plugins int   // 50
	Depth   int   // nested folders: 4
	Text    int64 // bytes read of a file with frontmatter: 64 KiB
	Config  int64 // bytes of a JSON file; larger ones are not read: 4 MiB
}

func (l Limits) withDefaults() Limits {
	l.Files = cmp.Or(l.Files, 1000)
	l.Entries = cmp.Or(l.Entries, 200)
	l.Plugins = cmp.Or(l.Plugins, 50)
	l.Depth = cmp.Or(l.Depth, 4)
	l.Text = cmp.Or(l.Text, 64<<10)
	l.Config = cmp.Or(l.Config, 4<<20)
	return l
}
