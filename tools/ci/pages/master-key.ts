import { secretPurposes } from '../../../packages/server/src/platform/ops/secret-purposes.ts'
import { generatedNote, tableOf, type GeneratedFile } from './markdown.ts'

const masterKeyPage = (): string => {
  const purposes = Object.entries(secretPurposes)
  const rows = purposes.map(([name, { protects, ifLost, ifLeaked }]) => [
    `\`${name}\``,
    protects,
    ifLost,
    ifLeaked,
  ])
  return `${generatedNote}

# The master key

\`DATA_DIR/master.key\` holds 32 random bytes, made at the first start (mode 0600). The api and the worker derive one key for each of
${purposes.length} purposes from it (HKDF-SHA256). Every api and worker process of a deployment needs the same file. The signer does
not use it.

**Back it up apart from the database, and never lose it.** Where the file is missing, the next start makes a new one, and
the api and the worker refuse to start with it. It cannot be rotated: there is no command that re-encrypts or re-derives what exists.

**If it leaks,** there is no repair in place, because it cannot be rotated. Move to a new deployment, or accept the costs
in the last column. Most of them also need a copy of the database.

These do not depend on the master key: API keys, operator keys, passkeys, recovery codes and logins (stored as hashes or
public keys), stored answers for \`Idempotency-Key\` (sealed with the caller's API key), the keys that sign credentials
(\`KEYS_DIR\`), the audit log and the ledger.

${tableOf(['Purpose', 'What it protects', 'If the key is lost', 'If the key leaks'], rows)}
`
}

export const masterKeyFiles = (): GeneratedFile[] => [['docs/reference/master-key.md', masterKeyPage()]]
