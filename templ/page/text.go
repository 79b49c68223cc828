package page

import "github.com/ahphub/ahphub/templ/part"

// Text is a piece of a turn: of one of its texts, or some of its steps.
type Text struct {
	Back  string // to the turn in its chat
	First string // the first piece; "" when this is the first
	Next  string // the next piece; "" when this is the last
	Where string // description of the piece

	Piece    part.PieceOf
	Steps    *part.Turn // the turn with the shown parts From to To; nil: a text is shown
	From, To int
}
