package live

import "errors"

// What can be wrong with a room or a stream; each text is for the reader of the page.
var (
	ErrGone        = errors.New("what this page shows is gone")
	ErrNoRoom      = errors.New("there is no such live room: reload the page")
	ErrBadMark     = errors.New("this is not a mark of a live page: reload it")
	ErrMarks       = errors.New("a live page names one to ten rooms")
	ErrBusy        = errors.New("too many pages are open: close some and try again")
	ErrTooManyOpen = errors.New("you have too many pages open here. Close some and reload this one")
)
