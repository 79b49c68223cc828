package live

import "errors"

// Errors of rooms and streams. Their texts are for the readers of pages.
var (
	ErrGone        = errors.New("this page's content has been deleted")
	ErrNoRoom      = errors.New("this live page is unknown. Reload it")
	ErrBadMark     = errors.New("this live page's position is invalid. Reload it")
	ErrMarks       = errors.New("a live page can follow 1 to 10 rooms. Reload it")
	ErrBusy        = errors.New("too many pages are open. Close some and try again")
	ErrTooManyOpen = errors.New("you have too many pages open. Close some and reload this one")
)
