import { createHash } from 'node:crypto'
import { canonicalJson } from '../platform/ops/canonical.ts'
import type { EvidenceItem, Telemetry } from '../sessions/index.ts'

/**
 * SHA-256 over salt and canonical JSON: proves a document to a holder of document and salt, and reveals nothing to
 * others.
 */
export const evidenceItem = (salt: Buffer, type: EvidenceItem['type'], document: unknown): EvidenceItem => ({
  type,
  alg: 'sha-256',
  hash: createHash('sha256').update(salt).update(canonicalJson(document)).digest('base64url'),
})

/** The telemetry claim of a one-chunk session: its RFC 6962 leaf hash is the root. */
export const singleChunkTelemetry = (salt: Buffer, chunk: unknown): Telemetry => {
  const bytes = Buffer.concat([salt, Buffer.from(canonicalJson(chunk))])
  return {
    alg: 'rfc6962-sha-256',
    link: createHash('sha256').update('pohf.telemetry.simulated').update(bytes).digest('base64url'),
    root: createHash('sha256')
      .update(Buffer.from([0]))
      .update(bytes)
      .digest('base64url'),
    n: 1,
  }
}
