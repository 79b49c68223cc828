// Package site is the base of all areas of the pages: the frame around a page with its rail and the head of a
// session, errors and how they are shown, forms that are answered once they are durable, and which channels a visitor
// may see. It has no pages, and does not import any area.
package site
