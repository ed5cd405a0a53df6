// Command release makes what is installed, into one folder, for Linux on amd64 and arm64: binaries, archives, packages, an
// image, checksums, a list of components, and the licences of what the program contains. It is run by `make release`.
//
//	build.go     the binaries, as static as can be: for amd64 whole, for arm64 all but the C library
//	contents.go  which modules are in them, their licences (THIRD_PARTY.txt), the CycloneDX list
//	archive.go   tar files that are the same whoever makes them
//	packages.go  .deb and .rpm, by nfpm
//	image.go     a container image without a daemon: one layer, an OCI layout that is also what "docker load" takes
//
// Two runs on the same files give the same bytes, wherever the tree lies. The packed empty warehouse that the program
// contains is one of these files: DuckDB writes parts of it in an order that differs each time. It is therefore in the
// source archive, from which anybody can build the same binaries.
package main
