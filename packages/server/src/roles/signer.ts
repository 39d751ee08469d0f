import { systemClock } from '../platform/ops/clock.ts'
import type { SignerConfig } from '../platform/ops/config.ts'
import { makeLogger } from '../platform/ops/log.ts'
import { onStop } from '../platform/ops/stop.ts'
// File by file, not by index.ts: this process loads no code that speaks HTTP or SQL, and starts the faster for it.
import { openBackend } from '../signing/open-backend.ts'
import { openKeyring } from '../signing/keyring.ts'
import { startSignerServer } from '../signing/signer-server.ts'

/** The only process that holds private keys. It needs no database and no network. */
export const runSigner = async (config: SignerConfig): Promise<void> => {
  const log = makeLogger(config.LOG_LEVEL)
  // Nothing that this process makes is for others, but for the socket where it is told so.
  process.umask(0o077)
  const backend = openBackend(config)
  const keyring = openKeyring({ folder: config.KEYS_DIR, backend, clock: systemClock })
  try {
    keyring.selfTest()
  } catch (error) {
    // Not the end: an operator can revoke the key that is lost, and /readyz says no until then.
    log.error({ err: error }, 'a key cannot sign')
  }
  const socketOptions = {
    socketPath: config.SIGNER_SOCKET,
    mode: Number.parseInt(config.SIGNER_SOCKET_MODE, 8),
  }
  const server = await startSignerServer(keyring, socketOptions, log)
  onStop(async () => {
    await new Promise<void>((resolve) => {
      server.close(() => resolve())
      // The api keeps its line open for ever; what it asked for is answered, for signing takes no turn of the loop.
      setImmediate(resolve)
    })
    keyring.close()
  })
  log.info({ backend: backend.name }, 'signer ready')
}
