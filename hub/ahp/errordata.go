package ahp

// AuthRequiredErrorData is a part of the protocol.
type AuthRequiredErrorData struct {
	Resources []ProtectedResourceMetadata `json:"resources"`
}

// PermissionDeniedErrorData is a part of the protocol.
type PermissionDeniedErrorData struct {
	Request *ResourceRequestParams `json:"request,omitempty"`
}

// UnsupportedProtocolVersionErrorData is a part of the protocol.
type UnsupportedProtocolVersionErrorData struct {
	SupportedVersions []string `json:"supportedVersions"`
}
