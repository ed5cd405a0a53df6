// Package pods writes the Kubernetes manifests of a replay from many pods. The objects are the types of k8s.io/api, so that a
// misspelt field does not compile.
package pods
