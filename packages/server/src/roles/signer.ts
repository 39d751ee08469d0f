import { systemClock } from '../platform/ops/clock.ts'
import type { SignerConfig } from '../platform/ops/config.ts'
import { makeLogger } from '../platform/ops/log.ts'
import { onStop } from '../platform/ops/stop.ts'
// Imported file by file, not from index.ts: this process loads no HTTP or SQL code, and starts faster.
import { openBackend } from '../signing/open-backend.ts'
import { openKeyring } from '../signing/keyring.ts'
import { startSignerServer } from '../signing/signer-server.ts'

/** The only process that holds private keys. It needs no database and no network. */
export const runSigner = async (config: SignerConfig): Promise<void> => {
  const log = makeLogger(config.LOG_LEVEL)
  // Files of this process are private; SIGNER_SOCKET_MODE may open the socket to its group.
  process.umask(0o077)
  const backend = openBackend(config)
  const keyring = openKeyring({ folder: config.KEYS_DIR, backend, clock: systemClock })
  try {
    keyring.selfTest()
  } catch (error) {
    // The signer starts nevertheless: an operator can revoke the lost key, and /readyz answers 503 until then.
    log.error({ err: error }, 'signer self-test failed; the readiness check answers 503')
  }
  const socketOptions = {
    socketPath: config.SIGNER_SOCKET,
    mode: Number.parseInt(config.SIGNER_SOCKET_MODE, 8),
  }
  const server = await startSignerServer(keyring, socketOptions, log)
  const { STOP_SECONDS: limitSeconds } = config
  onStop({ log, limitSeconds }, async () => {
    // Where every process is told to stop at once, the api needs the signer for the requests that it finishes. The limit
    // is a second shorter than the hard one: a signer that is restarted alone has clients that stay.
    await server.close((limitSeconds - 1) * 1_000)
    keyring.close()
  })
  log.info({ backend: backend.name, socket: config.SIGNER_SOCKET }, 'signer ready')
}
