import type { Ctx } from '../platform/ops/context.ts'
import { makeSignerMetrics } from '../platform/ops/metrics.ts'
import type { Keyring } from './keyring.ts'
import type { Signer } from './signer-client.ts'
import { noteCertificates } from './transport/certificates.ts'
import type { TlsIdentity } from './transport/signer-socket.ts'

/**
 * Sets the metrics of the signers that answer. The api reads them over the socket: a signer without a network serves no
 * metrics. A signer that does not answer has none; `pohf_ready` says so.
 */
export const measureSigners = async ({ metrics, clock, log }: Ctx, signer: Signer): Promise<void> => {
  const figures = await signer.figures().catch((error: unknown) => {
    log.debug({ err: error }, 'signer metrics unavailable')
    return []
  })
  metrics.journalFree.reset()
  metrics.journalDisk.reset()
  metrics.keyLeft.reset()
  const now = clock.now().getTime()
  for (const { signer: id, disk, keys } of figures) {
    metrics.journalFree.set({ signer: id }, disk.freeBytes)
    metrics.journalDisk.set({ signer: id }, disk.bytes)
    for (const { purpose, activeUntil } of keys)
      metrics.keyLeft.set({ signer: id, purpose }, (activeUntil - now) / 1_000)
  }
}

/**
 * Counts what a keyring signs, and writes the metrics of the signer. `identity`: what it shows to other machines, if it listens
 * for them.
 */
export const measureKeyring = (keyring: Keyring, identity: TlsIdentity | undefined) => {
  const metrics = makeSignerMetrics()
  if (identity) noteCertificates(metrics, identity)
  const timed = <T>(count: number, sign: () => T): T => {
    const startedAt = performance.now()
    let outcome = 'failed'
    try {
      const signed = sign()
      metrics.signatures.inc(count)
      outcome = 'signed'
      return signed
    } finally {
      metrics.signSeconds.observe({ outcome }, (performance.now() - startedAt) / 1_000)
    }
  }
  const measured: Keyring = {
    ...keyring,
    sign: (request) => timed(request.batch.length, () => keyring.sign(request)),
    signTyped: (typ, payload) => timed(1, () => keyring.signTyped(typ, payload)),
  }
  const render = async () => ({
    mediaType: metrics.registry.contentType,
    text: await metrics.registry.metrics(),
  })
  return { measured, render }
}
