// Package realobjects tests publishing into a bucket, and serving from one, against a real server of the S3 API: versitygw,
// which keeps objects as files. setup.sh builds it outside the tree, and the tests (build tag objects, `make test-objects`)
// run the program against it, over TLS:
//
//   - a reader who goes through the manifest all the time finds every object that it names, byte for byte, while several
//     processes publish;
//   - serve takes up new snapshots, answers from the last one while the server is down, and says so;
//   - a purge leaves nothing in the files of a server that keeps old versions;
//   - a wrong key, no bucket, and two warehouses at one prefix are refused.
package realobjects
