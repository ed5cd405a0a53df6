#!/bin/sh
# Builds, or finds ready, the S3 server that the objects tests run: versitygw, from the Go module proxy, without root.
#
#     sh internal/proof/realobjects/setup.sh CACHE    # prints what it does; its last line is the program
#
# Two minutes of CPU the first time. It may be killed at any moment: the program is renamed into place when it is whole.
set -eu

version=v1.8.0
cache=${1:?the cache folder}
folder=$cache/versitygw-$version

if [ ! -x "$folder/versitygw" ]; then
    mkdir -p "$cache"
    work=$(mktemp -d "$cache/versitygw.XXXXXX")
    trap 'rm -rf "$work"' EXIT
    echo "realobjects: building versitygw $version"
    if ! (cd / && GOFLAGS= CGO_ENABLED=0 GOBIN="$work/bin" go install "github.com/versity/versitygw/cmd/versitygw@$version"); then
        echo "realobjects: error: it cannot be built: the lines above say why" >&2
        echo "realobjects: hint: it needs the Go module proxy; or put versitygw into $folder" >&2
        exit 1
    fi
    rm -rf "$folder"
    mv "$work/bin" "$folder"
fi
echo "$folder/versitygw"
