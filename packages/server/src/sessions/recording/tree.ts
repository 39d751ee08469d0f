import { nodeBytes } from '@pohf/protocol/telemetry'
import { sha256 } from './chain.ts'

/** The largest power of two below n: where RFC 6962 splits a list of n leaves. */
const splitPointOf = (n: number): number => {
  let cut = 1
  while (cut * 2 < n) cut *= 2
  return cut
}

/** RFC 6962 tree head over leaf hashes. */
export const rootOf = (leaves: readonly Buffer[]): Buffer => {
  const [first] = leaves
  if (!first) return sha256('')
  if (leaves.length === 1) return first
  const cut = splitPointOf(leaves.length)
  return sha256(nodeBytes(rootOf(leaves.slice(0, cut)), rootOf(leaves.slice(cut))))
}

/** RFC 6962 audit path of the leaf at `index`, from the bottom up. */
export const proofOf = (leaves: readonly Buffer[], index: number): Buffer[] => {
  if (leaves.length <= 1) return []
  const cut = splitPointOf(leaves.length)
  return index < cut
    ? [...proofOf(leaves.slice(0, cut), index), rootOf(leaves.slice(cut))]
    : [...proofOf(leaves.slice(cut), index - cut), rootOf(leaves.slice(0, cut))]
}

const hashBytes = 32
export const packLeaves = (leaves: readonly Buffer[]): Buffer => Buffer.concat(leaves)
export const unpackLeaves = (bytes: Buffer): Buffer[] =>
  Array.from({ length: bytes.length / hashBytes }, (_, n) =>
    bytes.subarray(n * hashBytes, (n + 1) * hashBytes),
  )
