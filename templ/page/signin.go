package page

import "github.com/ahphub/ahphub/templ/part"

// SignIn is the page of somebody who is not signed in.
type SignIn struct {
	Frame part.Frame
	Next  string // path to go to afterwards
	Error string // why the last try failed
}
