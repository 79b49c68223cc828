package page

import "github.com/ahphub/ahphub/templ/part"

// Text is a piece of a turn: of one text of it, or some of its steps.
type Text struct {
	Back  string // to the turn in its chat
	First string // the first piece; "" when this is the first
	Next  string // the next piece; "" when this is the last
	Where string // which piece it is, in words

	Piece    part.PieceOf
	Steps    *part.Turn // the turn whose parts From to To are shown; nil: a text is
	From, To int
}
