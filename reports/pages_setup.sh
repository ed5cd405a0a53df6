#!/usr/bin/env bash
# What the browser test needs and `make test` does not: Chromium from the distribution's packages, and axe-core
# from npm, which is kept in the cache folder that is given as first argument.
set -euo pipefail
cache=$1
axe=4.14.1

if ! command -v chromium >/dev/null; then
  as_root=$([ "$(id -u)" = 0 ] || echo sudo)
  echo "test-pages: installing Chromium"
  command -v apt-get >/dev/null || { echo "test-pages: no chromium on PATH and no apt-get; install Chromium and try again" >&2; exit 1; }
  $as_root apt-get update -qq
  $as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq chromium >/dev/null
fi

if [ ! -s "$cache/axe-core-$axe/axe.min.js" ]; then
  if ! command -v npm >/dev/null; then
    echo "test-pages: no npm, so axe-core is left out"
    exit 0
  fi
  echo "test-pages: fetching axe-core $axe"
  work=$(mktemp -d)
  trap 'rm -rf "$work"' EXIT
  (cd "$work" && npm pack --silent "axe-core@$axe" >/dev/null && tar xzf axe-core-*.tgz package/axe.min.js)
  mkdir -p "$cache/axe-core-$axe"
  mv "$work/package/axe.min.js" "$cache/axe-core-$axe/axe.min.js"
fi
