// Package pods writes the Kubernetes manifests of a replay from many pods. A test reads them strictly into the types of
// k8s.io/api and back, so that a misspelt field is an error; the program itself does without these types, which are 8 MB.
package pods
