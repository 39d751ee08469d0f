// A signer with a fault, for tests: its journal writes a moment after the signature has left.
import { readSignerConfig } from '../src/platform/config.ts'
import { systemClock } from '../src/platform/clock.ts'
import { makeLog } from '../src/platform/log.ts'
import { openJournal } from '../src/signing/journal.ts'
import * as signing from '../src/signing/index.ts'

const config = readSignerConfig()
const keyring = signing.openKeyring({
  folder: config.KEYS_DIR,
  backend: signing.openBackend(config),
  clock: systemClock,
  openJournal: (folder, month) => {
    const journal = openJournal(folder, month)
    return { ...journal, append: (entries) => void setTimeout(() => journal.append(entries), 100) }
  },
})
await signing.listenAsSigner(keyring, { socketPath: config.SIGNER_SOCKET, mode: 0o600 }, makeLog('silent'))
