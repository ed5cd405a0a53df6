// Package objects keeps named bytes in a bucket behind the S3 API: AWS, MinIO, Ceph, or another server that speaks it.
//
//	address.go   s3://bucket/prefix as a user writes it
//	store.go     read, write, list and remove below a prefix; what a server's refusal means
//	folders.go   the folders of runs: kept up to date while they are sent, fetched by name
//	login.go     who asks and where: the AWS variables of the environment
//
// A single object appears whole or not at all, but several objects never change together. What must change together hangs
// on one object that names the others: Swap replaces that object only if nobody else has replaced it meanwhile, by the
// conditions If-Match and If-None-Match of the S3 API.
//
// It asks no server but the one of the address and those that the AWS variables name: never the metadata service of a
// machine, which would be asked on every laptop too.
package objects
