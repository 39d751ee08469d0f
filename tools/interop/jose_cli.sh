#!/bin/sh
# The jose command. It checks signatures and prints the payload in any case, so only its exit code counts;
# algorithm and `exp` are left to its caller. Usage: jose_cli.sh FOLDER (jwk/<kid>.json, cases.tsv)
folder=$1
member() { printf '%s' "$1" | jose b64 dec -i- 2>/dev/null | sed -n "s/.*\"$2\":\"\{0,1\}\([A-Za-z0-9_-]*\).*/\1/p"; }
tab=$(printf '\t')
while IFS="$tab" read -r name token; do
  header=${token%%.*}
  rest=${token#*.}
  payload=${rest%%.*}
  key="$folder/jwk/$(member "$header" kid).json"
  if [ "$(member "$header" alg)" != ES256 ]; then why='algorithm'
  elif [ ! -f "$key" ]; then why='unknown kid'
  elif ! printf '%s' "$token" | jose jws ver -i- -k "$key" >/dev/null 2>&1; then why='signature'
  elif [ "$(member "$payload" exp)" -le "$(date +%s)" ]; then why='expired'
  else why=''; fi
  if [ -z "$why" ]; then printf '%s\taccept\t\n' "$name"; else printf '%s\trefuse\t%s\n' "$name" "$why"; fi
done <"$folder/cases.tsv"
