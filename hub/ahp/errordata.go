package ahp

// AuthRequiredErrorData is the data of CodeAuthRequired.
type AuthRequiredErrorData struct {
	Resources []ProtectedResourceMetadata `json:"resources"`
}

// PermissionDeniedErrorData is the data of CodePermissionDenied: the access to request with
// resourceRequest.
type PermissionDeniedErrorData struct {
	Request *ResourceRequestParams `json:"request,omitempty"`
}

// UnsupportedProtocolVersionErrorData is the data of CodeUnsupportedProtocolVersion.
type UnsupportedProtocolVersionErrorData struct {
	SupportedVersions []string `json:"supportedVersions"`
}
