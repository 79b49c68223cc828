package ahp

// ContentEncoding is the encoding of data in JSON.
type ContentEncoding string

// The values of ContentEncoding.
const (
	ContentEncodingBase64 ContentEncoding = "base64"
	ContentEncodingUtf8   ContentEncoding = "utf-8"
)

// ResourceType is the type of a resource.
type ResourceType string

// The values of ResourceType.
const (
	ResourceTypeFile      ResourceType = "file"
	ResourceTypeDirectory ResourceType = "directory"
	ResourceTypeSymlink   ResourceType = "symlink"
)

// ResourceWriteMode is where data is written in a file.
type ResourceWriteMode string

// The values of ResourceWriteMode.
const (
	ResourceWriteModeTruncate ResourceWriteMode = "truncate"
	ResourceWriteModeAppend   ResourceWriteMode = "append"
	ResourceWriteModeInsert   ResourceWriteMode = "insert"
)

// ResourceReadParams read a resource. Binary content is base64 whatever Encoding says
// (AHP requirement 169).
type ResourceReadParams struct {
	Channel  URI             `json:"channel"`
	URI      string          `json:"uri"`
	Encoding ContentEncoding `json:"encoding,omitempty"`
	Meta     Meta            `json:"_meta,omitzero"`
}

// ResourceReadResult is the result of resourceRead.
type ResourceReadResult struct {
	Data        string          `json:"data"`
	Encoding    ContentEncoding `json:"encoding"`
	ContentType string          `json:"contentType,omitempty"`
}

// ResourceWriteParams write a resource.
type ResourceWriteParams struct {
	Channel     URI               `json:"channel"`
	URI         URI               `json:"uri"`
	Data        string            `json:"data"`
	Encoding    ContentEncoding   `json:"encoding"`
	ContentType string            `json:"contentType,omitempty"`
	CreateOnly  *bool             `json:"createOnly,omitempty"`
	Mode        ResourceWriteMode `json:"mode,omitempty"`
	Position    *int64            `json:"position,omitempty"` // bytes, for insert
	IfMatch     string            `json:"ifMatch,omitempty"`  // an etag; a different current one is a conflict
	Meta        Meta              `json:"_meta,omitzero"`
}

// ResourceWriteResult is the result of resourceWrite.
type ResourceWriteResult struct{}

// ResourceListParams are the params of resourceList.
type ResourceListParams struct {
	Channel URI  `json:"channel"`
	URI     URI  `json:"uri"`
	Meta    Meta `json:"_meta,omitzero"`
}

// ResourceListResult is the result of resourceList.
type ResourceListResult struct {
	Entries []DirectoryEntry `json:"entries"`
}

// ResourceCopyParams are the params of resourceCopy.
type ResourceCopyParams struct {
	Channel      URI   `json:"channel"`
	Source       URI   `json:"source"`
	Destination  URI   `json:"destination"`
	FailIfExists *bool `json:"failIfExists,omitempty"`
	Meta         Meta  `json:"_meta,omitzero"`
}

// ResourceCopyResult is the result of resourceCopy.
type ResourceCopyResult struct{}

// ResourceDeleteParams are the params of resourceDelete.
type ResourceDeleteParams struct {
	Channel   URI   `json:"channel"`
	URI       URI   `json:"uri"`
	Recursive *bool `json:"recursive,omitempty"`
	Meta      Meta  `json:"_meta,omitzero"`
}

// ResourceDeleteResult is the result of resourceDelete.
type ResourceDeleteResult struct{}

// ResourceRequestParams request access to a resource, for reading unless Read or Write is set.
type ResourceRequestParams struct {
	Channel URI   `json:"channel"`
	URI     URI   `json:"uri"`
	Read    *bool `json:"read,omitempty"`
	Write   *bool `json:"write,omitempty"`
	Meta    Meta  `json:"_meta,omitzero"`
}

// ResourceRequestResult is the result of resourceRequest.
type ResourceRequestResult struct{}

// ResourceMoveParams are the params of resourceMove.
type ResourceMoveParams struct {
	Channel      URI   `json:"channel"`
	Source       URI   `json:"source"`
	Destination  URI   `json:"destination"`
	FailIfExists *bool `json:"failIfExists,omitempty"`
	Meta         Meta  `json:"_meta,omitzero"`
}

// ResourceMoveResult is the result of resourceMove.
type ResourceMoveResult struct{}

// ResourceResolveParams are the params of resourceResolve.
type ResourceResolveParams struct {
	Channel        URI   `json:"channel"`
	URI            URI   `json:"uri"`
	FollowSymlinks *bool `json:"followSymlinks,omitempty"`
	Meta           Meta  `json:"_meta,omitzero"`
}

// ResourceResolveResult describes a resource.
type ResourceResolveResult struct {
	URI         URI          `json:"uri"`
	Type        ResourceType `json:"type"`
	Size        *int64       `json:"size,omitempty"` // bytes
	Mtime       string       `json:"mtime,omitempty"`
	Ctime       string       `json:"ctime,omitempty"`
	ContentType string       `json:"contentType,omitempty"`
	Etag        string       `json:"etag,omitempty"`
}

// ResourceMkdirParams are the params of resourceMkdir.
type ResourceMkdirParams struct {
	Channel URI  `json:"channel"`
	URI     URI  `json:"uri"`
	Meta    Meta `json:"_meta,omitzero"`
}

// ResourceMkdirResult is the result of resourceMkdir.
type ResourceMkdirResult struct{}

// DirectoryEntry is a name in a directory.
type DirectoryEntry struct {
	Name string       `json:"name"`
	Type ResourceType `json:"type"`
}

// CreateResourceWatchParams are the params of createResourceWatch.
type CreateResourceWatchParams struct {
	Channel   URI               `json:"channel"`
	URI       URI               `json:"uri"`
	Recursive *bool             `json:"recursive,omitempty"`
	Excludes  *StringCollection `json:"excludes,omitempty"`
	Includes  *StringCollection `json:"includes,omitempty"`
	Meta      Meta              `json:"_meta,omitzero"`
}

// CreateResourceWatchResult names the channel of the watch.
type CreateResourceWatchResult struct {
	Channel URI `json:"channel"`
}
