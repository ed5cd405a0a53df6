// Package weeks holds the proof that the verdict of a Monday page stands: twelve weeks of services whose traffic does not change, and of one that grows.
package weeks
