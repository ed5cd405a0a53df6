package kit

// Version is set by the Makefile from the repository's state.
var Version = "0.1.0-dev"
