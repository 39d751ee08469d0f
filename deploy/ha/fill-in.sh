#!/usr/bin/env bash
# Fills in the templates of the high-availability kit.
#   deploy/ha/fill-in.sh SETTINGS FOLDER
# SETTINGS is a copy of cluster.env.example. FOLDER gets one folder for each database machine, and `app` for the application
# machines. The files contain passwords: they are readable by their owner only.
set -euo pipefail
umask 077

[ $# -eq 2 ] || { echo "usage: $0 SETTINGS FOLDER" >&2; exit 2; }
settings=$1 folder=$2
templates=$(dirname "$(readlink -f "$0")")/templates
fail() { echo "$settings: $1" >&2; exit 1; }

# The file is read, not run. A value with a quote or a line break would add lines of its own to a YAML file.
declare -A value
while IFS= read -r line || [ -n "$line" ]; do
  [[ $line =~ ^[[:space:]]*(#.*)?$ ]] && continue
  [[ $line =~ ^([A-Z][A-Z0-9_]*)=(.*)$ ]] || fail "not NAME=VALUE: $line"
  name=${BASH_REMATCH[1]} text=${BASH_REMATCH[2]}
  [ -n "$text" ] || fail "$name is empty"
  [[ $text =~ ^[A-Za-z0-9._:/*@,-]+$ ]] || fail "$name has a character other than letters, digits and . _ : / * @ , -"
  if [[ $name =~ _(PASSWORD|PASSPHRASE)$ ]]; then
    [[ $text =~ ^[A-Za-z0-9]{16,}$ ]] || fail "$name needs 16 or more letters and digits"
  fi
  value[$name]=$text
done <"$settings"
[[ ${value[ETCD_API]:-} =~ ^etcd3?$ ]] || fail 'ETCD_API is neither etcd nor etcd3'
[[ ${value[WATCHDOG]:-} =~ ^(off|automatic|required)$ ]] || fail 'WATCHDOG is not off, automatic or required'

# Values first, then what differs between the machines: a value may contain @NODE_NAME@.
script=$(for name in "${!value[@]}"; do echo "s|@$name@|${value[$name]}|g"; done)
fill() { # template, result, and the number of the machine if there is one
  local number=${3:-} machine=()
  if [ -n "$number" ]; then
    local node=NODE_${number}_NAME address=NODE_${number}_ADDRESS
    machine=(-e "s|@NODE_NAME@|${value[$node]:?}|g" -e "s|@NODE_ADDRESS@|${value[$address]:?}|g")
  fi
  mkdir -p "$(dirname "$2")"
  # A line that begins with ## explains the template, not the result.
  sed -e '/^##/d' -e "$script" "${machine[@]}" "$templates/$1" >"$2"
  if grep -oE '@[A-Z0-9_]+@' "$2" >&2; then fail "no value for the names above, in $1"; fi
}

for number in 1 2 3; do
  name=NODE_${number}_NAME
  for template in etcd.env patroni.yml pgbackrest.conf patroni-restart.conf pohf-backup.service pohf-backup.timer; do
    fill "$template" "$folder/${value[$name]:?not set}/$template" "$number"
  done
done
fill haproxy.cfg "$folder/app/haproxy.cfg"
echo "written to $folder"
