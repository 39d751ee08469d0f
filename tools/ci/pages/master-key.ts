import {
  acceptedHoursMax,
  secretPurposes,
} from '../../../packages/server/src/platform/ops/secret-purposes.ts'
import { generatedNote, tableOf, type GeneratedFile } from './markdown.ts'

type Rotation = (typeof secretPurposes)[keyof typeof secretPurposes]['rotation']

const hoursText = (hours: number): string =>
  hours < 48 ? `${hours} ${hours === 1 ? 'hour' : 'hours'}` : `${hours / 24} days`

/** What a rotation does with the key of a purpose and with what it made. */
const rotationText = (rotation: Rotation): string => {
  switch (rotation.how) {
    case 'resealed':
      return `Moved: ${rotation.columns.map((column) => `\`${column}\``).join(', ')}.`
    case 'expires':
      return rotation.hours === 0
        ? 'Begins anew with the new version.'
        : `Accepted for ${hoursText(rotation.hours)}, new ones use the new version.`
    case 'recomputed':
      return 'Each version has its own.'
    case 'kept':
      return `Stays. ${rotation.why}`
  }
}

const masterKeyPage = (): string => {
  const purposes = Object.entries(secretPurposes)
  const rows = purposes.map(([name, { protects, rotation, ifLost, ifLeaked }]) => [
    `\`${name}\``,
    protects,
    rotationText(rotation),
    ifLost,
    ifLeaked,
  ])
  return `${generatedNote}

# The master key

\`DATA_DIR/master.key\` holds 32 random bytes, made at the first start (mode 0600). The api and the worker derive one key for each of
${purposes.length} purposes from it (HKDF-SHA256). Every api and worker process of a deployment needs the same file. The signer does
not use it.

**Back it up apart from the database, and never lose it.** Where the file is missing, the next start makes a new one, and
the api and the worker refuse to start with it.

**If it leaks,** [rotate it](../operate/master-key.md). Then the old key opens no value of the database, and no token that is made with
it is accepted. Three things remain as the last column says:

- The keys of ${purposes.filter(([, { rotation }]) => rotation.how === 'kept').length} purposes are kept. Whoever has the old master key can still compute them.
- Whoever has the old key and an old copy of the database can read what that copy holds, for ever.
- Until the old version is retired, its tokens are accepted: for ${hoursText(acceptedHoursMax)}, or less with \`--at-once\`.

## The file

Each line holds a key as base64url. A line with nothing else is version 1 of the master key. \`2:…\` is version 2. \`pairwise:…\` is the key of a purpose
that is kept, from a version that is no longer in the file.

## Purposes

These do not depend on the master key: API keys, operator keys, passkeys, recovery codes and logins (stored as hashes or
public keys), stored answers for \`Idempotency-Key\` (sealed with the caller's API key), the keys that sign credentials
(\`KEYS_DIR\`), the audit log and the ledger.

${tableOf(['Purpose', 'What it protects', 'In a rotation', 'If the key is lost', 'If the key leaks'], rows)}
`
}

export const masterKeyFiles = (): GeneratedFile[] => [['docs/reference/master-key.md', masterKeyPage()]]
