#!/usr/bin/env bash
# Installs the Debian packages that the tests use and npm cannot bring, or those that are named: debian-packages.sh patroni haproxy
# Does nothing without root or apt: what is missing then is skipped by the tests that need it, and they say so.
set -euo pipefail
# g++, make and python3 build the binding to PKCS#11; softhsm2 is the token that it is tested on. g++ brings cc, with which
# the battery of faults builds a library that moves PostgreSQL's clock.
# faketime gives a process a wrong clock. haproxy is the load balancer of the battery of faults.
# xvfb and xdotool play a person in the end-to-end tests: a screen that nobody sees, and input at the system's level.
# systemd-analyze rates the units of deploy/systemd.
# curl and jq are in the examples of the documentation. postgresql is the second version that the installation is tested on.
# python3-jwt, python3-cryptography and golang-go run the verifiers of the documentation in Python and Go; openssh-client signs
# the checksums of a release.
# python3-venv installs schemathesis, which sends the random requests.
# With names as arguments it installs those instead: a battery names what only it needs.
packages=(softhsm2 g++ make python3 python3-venv faketime haproxy xvfb xdotool curl jq postgresql systemd python3-jwt
  python3-cryptography golang-go openssh-client)
[ "$#" -gt 0 ] && packages=("$@")

missing=()
for package in "${packages[@]}"; do
  dpkg-query --show --showformat='${db:Status-Status}' "$package" 2>/dev/null | grep -qx installed || missing+=("$package")
done
[ "${#missing[@]}" -eq 0 ] && exit 0
if [ "$(id -u)" -ne 0 ] || ! command -v apt-get >/dev/null; then
  echo "not installed: ${missing[*]}" >&2
  exit 0
fi
export DEBIAN_FRONTEND=noninteractive
apt-get install --yes --no-install-recommends "${missing[@]}" >/dev/null ||
  { apt-get update >/dev/null && apt-get install --yes --no-install-recommends "${missing[@]}" >/dev/null; } ||
  echo "could not be installed: ${missing[*]}" >&2
