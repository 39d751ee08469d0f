import { systemClock } from '../platform/ops/clock.ts'
import type { SignerConfig } from '../platform/ops/config.ts'
import { makeLogger, type Logger } from '../platform/ops/log.ts'
import { onStop } from '../platform/ops/stop.ts'
import { startTracing, stopTracing } from '../platform/ops/tracing.ts'
// Imported file by file, not from index.ts: this process loads no HTTP or SQL code, and starts faster.
import { openBackend } from '../signing/open-backend.ts'
import { requireKeyFolder } from '../signing/folder/key-folder.ts'
import { lockKeyFolder } from '../signing/folder/key-folder-lock.ts'
import { openKeyring, type Keyring } from '../signing/keyring.ts'
import { tlsListenOf } from '../signing/transport/signer-addresses.ts'
import { startSignerServer } from '../signing/signer-server.ts'
import type { TlsListen } from '../signing/transport/signer-socket.ts'

type MeasuredKeyring = { readonly keyring: Keyring; readonly tls: TlsListen | undefined }

/** Counts what the keyring signs and opens the metrics listener, if there is to be one. Loads neither otherwise. */
const measureSigning = async (
  { keyring, tls }: MeasuredKeyring,
  config: SignerConfig,
  log: Logger,
): Promise<Keyring> => {
  const { METRICS_HOST: host, METRICS_PORT: port } = config
  if (port === undefined) return keyring
  const { measureKeyring } = await import('../signing/measure.ts')
  const { startMetricsListener } = await import('../platform/ops/metrics-listener.ts')
  const { measured, render } = measureKeyring(keyring, tls?.identity)
  await startMetricsListener({ host, port, log, render })
  return measured
}

/** The only process that holds private keys. It needs no database and no network. */
export const runSigner = async (config: SignerConfig): Promise<void> => {
  const log = makeLogger(config.LOG_LEVEL)
  // Files of this process are private; SIGNER_SOCKET_MODE may open the socket to its group.
  process.umask(0o077)
  requireKeyFolder(config)
  const lock = lockKeyFolder(config.KEYS_DIR)
  const backend = openBackend(config)
  await startTracing(config, 'pohf-signer')
  const opened = openKeyring({
    folder: config.KEYS_DIR,
    backend,
    clock: systemClock,
    cell: config.CELL,
    admissionKey: config.ADMISSION_KEY,
  })
  const tls = tlsListenOf(config)
  const keyring = await measureSigning({ keyring: opened, tls }, config, log)
  try {
    keyring.selfTest()
  } catch (error) {
    // The signer starts nevertheless: an operator can revoke the lost key, and /readyz answers 503 until then.
    log.error({ err: error }, 'signer self-test failed; the readiness check answers 503')
  }
  const socketOptions = {
    socketPath: config.SIGNER_SOCKET,
    mode: Number.parseInt(config.SIGNER_SOCKET_MODE, 8),
    operatorSocketPath: config.SIGNER_OPERATOR_SOCKET,
    tls,
  }
  const server = await startSignerServer(keyring, socketOptions, log)
  const { STOP_SECONDS: limitSeconds } = config
  onStop({ log, limitSeconds }, async () => {
    // When all processes are told to stop at once, the api still needs the signer for the requests that it finishes. The
    // limit is one second below the hard limit, because a signer that restarts alone has clients that never disconnect.
    await server.close((limitSeconds - 1) * 1_000)
    keyring.close()
    lock.release()
    await stopTracing()
  })
  log.info(
    {
      signer: keyring.signer,
      backend: backend.name,
      socket: config.SIGNER_SOCKET,
      listen: config.SIGNER_LISTEN,
    },
    'signer ready',
  )
}
