import { createHash } from 'node:crypto'
import { canonicalJson } from '../platform/ops/canonical.ts'
import { isWellFormedKey } from '../platform/ops/keys.ts'

export const operatorKeyPrefix = 'svc_op_'
export const isOperatorKey = (text: string): boolean => isWellFormedKey([operatorKeyPrefix], text)

export type AuditEntry = {
  readonly seq: bigint
  readonly at: Date
  readonly operatorId: string
  readonly action: string
  readonly target: string
  readonly details: Readonly<Record<string, unknown>>
}

export const initialHash = Buffer.alloc(32)

/** The hash of an entry: over the previous hash and every field. */
export const hashEntry = (previous: Buffer, entry: AuditEntry): Buffer => {
  const line = [
    entry.seq.toString(),
    entry.at.toISOString(),
    entry.operatorId,
    entry.action,
    entry.target,
    entry.details,
  ]
  return createHash('sha256').update(previous).update(canonicalJson(line)).digest()
}

type ChainedEntry = AuditEntry & { readonly prevHash: Buffer; readonly hash: Buffer }
/** Whether consecutive entries after `previous` are unchanged and complete. */
export const isChainIntact = (
  previous: { seq: bigint; hash: Buffer },
  entries: readonly ChainedEntry[],
): boolean => {
  let last = previous
  for (const entry of entries) {
    const fits =
      entry.seq === last.seq + 1n &&
      entry.prevHash.equals(last.hash) &&
      entry.hash.equals(hashEntry(last.hash, entry))
    if (!fits) return false
    last = entry
  }
  return true
}
