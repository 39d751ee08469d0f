#!/usr/bin/env bash
# Prints the path of promtool, which tests the alerts: the installed one, or the one of Debian's package prometheus, which
# is unpacked into the cache and not installed, so that no service starts.
set -euo pipefail
if command -v promtool; then exit 0; fi
cache=$(cd "$(dirname "$0")/../.." && pwd)/node_modules/.cache/promtool
if [ ! -x "$cache/usr/bin/promtool" ]; then
  mkdir -p "$cache"
  cd "$cache"
  apt-get download prometheus >&2 || { apt-get update >&2 && apt-get download prometheus >&2; }
  dpkg-deb --fsys-tarfile prometheus_*.deb | tar --extract ./usr/bin/promtool
  rm prometheus_*.deb
fi
echo "$cache/usr/bin/promtool"
