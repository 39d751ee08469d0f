import { createHash, createPublicKey, timingSafeEqual, verify, type KeyObject } from 'node:crypto'
import {
  actionBytes,
  firstLinkBytes,
  linkBytes,
  readChunk,
  telemetryLimits,
  thumbprintText,
  type Action,
  type TelemetryChunk,
} from '@pohf/protocol/telemetry'

export type PublicJwk = {
  readonly kty: 'EC'
  readonly crv: 'P-256'
  readonly x: string
  readonly y: string
}

export const sha256 = (bytes: Uint8Array | string): Buffer => createHash('sha256').update(bytes).digest()

export const thumbprintOf = (key: PublicJwk): string => sha256(thumbprintText(key)).toString('base64url')

/** The page's key; undefined when x and y are not a point on P-256 or not canonical base64url. */
export const readKey = (jwk: PublicJwk): KeyObject | undefined => {
  const isCanonical = [jwk.x, jwk.y].every(
    (part) => Buffer.from(part, 'base64url').toString('base64url') === part,
  )
  if (!isCanonical) return undefined
  try {
    return createPublicKey({ key: { ...jwk }, format: 'jwk' })
  } catch {
    return undefined
  }
}

/** x and y as 64 bytes; `unpackKey` is the inverse. */
export const packKey = (jwk: PublicJwk): Buffer =>
  Buffer.concat([Buffer.from(jwk.x, 'base64url'), Buffer.from(jwk.y, 'base64url')])
const unpackKey = (bytes: Buffer): PublicJwk => ({
  kty: 'EC',
  crv: 'P-256',
  x: bytes.subarray(0, 32).toString('base64url'),
  y: bytes.subarray(32).toString('base64url'),
})

type ChainOpening = { readonly sessionId: string; readonly nonce: string; readonly jkt: string }
export const firstLinkOf = (opening: ChainOpening, action: Action): string =>
  sha256(
    firstLinkBytes({
      nonce: Buffer.from(opening.nonce, 'base64url'),
      jkt: opening.jkt,
      sessionId: opening.sessionId,
      actionHash: sha256(actionBytes(action)),
    }),
  ).toString('base64url')

const nextLink = (previous: string, seq: number, chunkHash: Buffer): Buffer =>
  sha256(linkBytes(Buffer.from(previous, 'base64url'), seq, chunkHash))

/** The state of a chain after its last chunk. Links and hashes are base64url. */
export type Chain = {
  readonly seq: number
  readonly link: string
  /** The previous link: it tells a forked chunk of the same number from garbage. */
  readonly previousLink: string
  readonly chunkHash: string
  /** The page's time at the end of the last chunk. */
  readonly t1: number
  readonly bytes: number
}
export const chainFrom = (link: string): Chain => ({
  seq: 0,
  link,
  previousLink: '',
  chunkHash: '',
  t1: 0,
  bytes: 0,
})

export type SignedChunk = { readonly chunk: string; readonly signature: string }

/** Why a chunk is refused; docs/reference/telemetry.md has a row for each. */
export type ChunkRule =
  'shape' | 'limit' | 'ended' | 'sequence' | 'signature' | 'fork' | 'receipt' | 'clock' | 'end'

export type ChunkContext = {
  readonly chain: Chain
  /** The token of the last receipt. */
  readonly token: string
  readonly publicKey: Buffer
  readonly startedAt: number
  readonly now: number
  readonly isClosed: boolean
  /** Whether the chunk was sent to finish the session. */
  readonly isEnd: boolean
}

export type ChunkVerdict =
  | { readonly type: 'refused'; readonly rule: ChunkRule; readonly signed: boolean }
  | { readonly type: 'repeated' }
  | { readonly type: 'accepted'; readonly chunk: TelemetryChunk; readonly chain: Chain }

const sameText = (a: string, b: string): boolean =>
  a.length === b.length && timingSafeEqual(Buffer.from(a), Buffer.from(b))

const isClockAhead = (t1: number, elapsedMs: number): boolean =>
  t1 > elapsedMs + telemetryLimits.aheadMs + elapsedMs / 10

const isEndConsistent = (chunk: TelemetryChunk, isEnd: boolean): boolean => {
  if (chunk.last === null) return !isEnd
  return isEnd && chunk.last.n === chunk.seq && chunk.last.ms === chunk.t1
}

type SignedRule = readonly [ChunkRule, (chunk: TelemetryChunk, context: ChunkContext) => boolean]
/** Further rules for chunks with a valid signature. A violation is by the holder of the key. */
export const signedRules: readonly SignedRule[] = [
  ['receipt', (chunk, { token }) => sameText(chunk.receipt, token)],
  [
    'clock',
    (chunk, { chain, now, startedAt }) => chunk.t0 === chain.t1 && !isClockAhead(chunk.t1, now - startedAt),
  ],
  ['end', (chunk, { isEnd }) => isEndConsistent(chunk, isEnd)],
]

const refused = (rule: ChunkRule, signed = false): ChunkVerdict => ({ type: 'refused', rule, signed })

/** Keys of sessions that this process has read: reading one costs half as much as a signature check. */
const knownKeys = new Map<string, KeyObject>()
const knownKeysMax = 10_000

const findKey = (publicKey: Buffer): KeyObject | undefined => {
  const name = publicKey.toString('latin1')
  const known = knownKeys.get(name)
  if (known) return known
  const key = readKey(unpackKey(publicKey))
  if (!key) return undefined
  if (knownKeys.size >= knownKeysMax)
    for (const oldest of knownKeys.keys()) if (knownKeys.delete(oldest)) break
  knownKeys.set(name, key)
  return key
}

const isSigned = (publicKey: Buffer, link: Buffer, signature: string): boolean => {
  const key = findKey(publicKey)
  return (
    key !== undefined &&
    verify('sha256', link, { key, dsaEncoding: 'ieee-p1363' }, Buffer.from(signature, 'base64url'))
  )
}

/** A chunk with the last sequence number: the same bytes are a retry, other bytes are a fork. */
const verifyRepeatedChunk = (
  signed: SignedChunk,
  chunk: TelemetryChunk,
  hash: Buffer,
  context: ChunkContext,
): ChunkVerdict => {
  const { chain, publicKey, isClosed, isEnd } = context
  const isSame = hash.toString('base64url') === chain.chunkHash
  const link = isSame ? Buffer.from(chain.link, 'base64url') : nextLink(chain.previousLink, chain.seq, hash)
  if (!isSigned(publicKey, link, signed.signature)) return refused('signature')
  if (isSame && isClosed === isEnd && (chunk.last !== null) === isEnd) return { type: 'repeated' }
  if (isClosed) return refused('ended', true)
  return refused(isSame ? 'end' : 'fork', true)
}

/** Verifies chunks by these rules; production uses `signedRules`. */
export const makeChunkVerifier =
  (rules: readonly SignedRule[]) =>
  (signed: SignedChunk, context: ChunkContext): ChunkVerdict => {
    const { chain } = context
    const bytes = Buffer.byteLength(signed.chunk)
    if (bytes > telemetryLimits.chunkBytes) return refused('limit')
    const chunk = readChunk(signed.chunk)
    if (!chunk || (chunk.environment === null) === (chunk.seq === 1)) return refused('shape')
    const hash = sha256(signed.chunk)
    if (chunk.seq === chain.seq) return verifyRepeatedChunk(signed, chunk, hash, context)
    if (context.isClosed) return refused('ended')
    if (chunk.seq !== chain.seq + 1) return refused('sequence')
    if (chain.bytes + bytes > telemetryLimits.bytesPerSession) return refused('limit')
    const link = nextLink(chain.link, chunk.seq, hash)
    if (!isSigned(context.publicKey, link, signed.signature)) return refused('signature')
    const broken = rules.find(([, holds]) => !holds(chunk, context))
    if (broken) return refused(broken[0], true)
    return {
      type: 'accepted',
      chunk,
      chain: {
        seq: chunk.seq,
        link: link.toString('base64url'),
        previousLink: chain.link,
        chunkHash: hash.toString('base64url'),
        t1: chunk.t1,
        bytes: chain.bytes + bytes,
      },
    }
  }

/** Verifies the signature of a telemetry chunk, its place in the chain, and the rules for its content. */
export const verifyChunk = makeChunkVerifier(signedRules)
