package peers

// Buckets returns the buckets of documents that say which nodes belong to the cluster.
func Buckets() []string { return []string{MemberBucket, tokenBucket, keyBucket} }
