// Package site is what every area of the pages stands on: the frame around a page with its rail and the head of a
// session, errors and how they are shown, forms that are answered once they are durable, and who may see which channel.
// It has no page of its own, and knows no area.
package site
