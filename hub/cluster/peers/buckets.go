package peers

// Buckets returns the buckets that define which nodes belong to the cluster.
func Buckets() []string { return []string{MemberBucket, tokenBucket, keyBucket} }
