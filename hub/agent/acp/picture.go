package acp

import (
	"encoding/base64"
	"fmt"
	"net/http"
	"strings"

	"github.com/ahphub/ahphub/hub/agent"
	"github.com/ahphub/ahphub/hub/ahp"
	"github.com/ahphub/ahphub/hub/texts"
)

const (
	mostPicture  = 2 << 20 // bytes of a picture in an answer
	mostPictures = 50      // of a turn; each sub-agent's turn has its own
)

var errPictureSize = fmt.Errorf("it is larger than %d MiB", mostPicture>>20)

// picture emits a picture of an answer as a part that refers to it, or a note that says why it is
// not shown.
func (s *stream) picture(host agent.Host, b block) error {
	s.part = nil
	ref, err := s.keepPicture(host, b)
	if err != nil {
		return s.notice("An image (" + texts.ElideBytes(nameOf(b.MimeType, "no type"), 100) + ") is not shown: " +
			err.Error() + ".")
	}
	return s.emit(&ahp.ChatResponsePartAction{Part: ahp.ResponsePart{Value: &ahp.ResourceResponsePart{
		URI: ref.URI, SizeHint: ref.SizeHint, ContentType: ref.ContentType, Nonce: ref.Nonce}}})
}

func (s *stream) keepPicture(host agent.Host, b block) (ref ahp.ContentRef, err error) {
	keeper, ok := host.(agent.Keeper)
	switch {
	case !ok:
		return ref, fmt.Errorf("this session stores none")
	case s.pictures == mostPictures:
		return ref, fmt.Errorf("a turn has at most %d", mostPictures)
	case base64.StdEncoding.DecodedLen(len(b.Data)) > mostPicture+2:
		return ref, errPictureSize
	}
	data, err := base64.StdEncoding.DecodeString(b.Data)
	if err != nil {
		return ref, fmt.Errorf("it can't be decoded")
	}
	if len(data) > mostPicture {
		return ref, errPictureSize
	}
	media := pictureType(data)
	if media == "" {
		return ref, fmt.Errorf("its content is not PNG, JPEG, GIF or WebP")
	}
	s.pictures++
	ref, err = keeper.Keep("/image."+media[len("image/"):], data)
	if err != nil {
		return ref, fmt.Errorf("it could not be stored")
	}
	ref.ContentType = media
	return ref, nil
}

// pictureType returns the media type of PNG, JPEG, GIF and WebP data; "" for other data.
func pictureType(data []byte) string {
	switch media := http.DetectContentType(data); media {
	case "image/png", "image/jpeg", "image/gif", "image/webp":
		return media
	}
	return ""
}

// embeddedType returns the type of a picture in a call's output. It depends on the bytes; the
// program's type counts only for SVG.
func embeddedType(b block) string {
	data, err := base64.StdEncoding.DecodeString(b.Data)
	media := pictureType(data)
	switch {
	case err == nil && media != "":
		return media
	case strings.HasSuffix(strings.ToLower(b.MimeType), "svg+xml"):
		return b.MimeType
	}
	return "application/octet-stream"
}
