/** The commitment of a credential to its recording. */
export type TelemetryClaim = {
  readonly alg: string
  readonly link: string
  readonly root: string
  readonly n: number
}
/** The start of the recording, as `GET /api/agents/sessions/{id}/chunks` returns it. */
export type TelemetryOpening = {
  readonly nonce: string
  readonly key: { readonly kty: 'EC'; readonly crv: 'P-256'; readonly x: string; readonly y: string }
  readonly site: string
  readonly kind: string
  readonly workflowId: string | null
  readonly challenge: string | null
}
export type SealedChunk = {
  readonly seq: number
  readonly ciphertext: string
  readonly key: string
  readonly proof: readonly string[]
}
/** One decrypted record: the page's chunk, its arrival, and the receipt that it follows. */
export type OpenedRecord = {
  readonly v: 1
  readonly seq: number
  readonly chunk: string
  readonly signature: string
  readonly receivedAt: number
  readonly after: { readonly at: number; readonly token: string; readonly probe: unknown }
}

/** The list is closed: a new reason is a new minor version. */
export type TelemetryReason =
  | 'unknown_alg'
  | 'malformed'
  | 'not_included'
  | 'cannot_decrypt'
  | 'wrong_key'
  | 'out_of_order'
  | 'broken_chain'
  | 'wrong_receipt'
  | 'wrong_clock'
  | 'wrong_end'
type TelemetryFailure = {
  readonly ok: false
  readonly reason: TelemetryReason
  readonly seq: number
  readonly message: string
}
export type OpenChunkResult = { readonly ok: true; readonly record: OpenedRecord } | TelemetryFailure
export type CheckChunksResult =
  | {
      readonly ok: true
      readonly records: readonly OpenedRecord[]
      /** Whether these are all chunks of the session, up to its signed end. */
      readonly complete: boolean
    }
  | TelemetryFailure

type Bytes = Uint8Array<ArrayBuffer>
const { subtle } = globalThis.crypto
const encoder = new TextEncoder()
const tagBytes = 16
const chunksMax = 2_000
const proofMax = 16
/** A record holds one chunk of at most 64 KB, written as a JSON text, and little besides. */
const ciphertextMax = 1_000_000

const sha256 = async (bytes: Bytes): Promise<Bytes> => new Uint8Array(await subtle.digest('SHA-256', bytes))

/** Undefined where the text is no base64url. */
const decode = (text: unknown): Bytes | undefined => {
  if (typeof text !== 'string' || text.length > ciphertextMax || !/^[A-Za-z0-9_-]*$/.test(text))
    return undefined
  try {
    return Uint8Array.from(atob(text.replaceAll('-', '+').replaceAll('_', '/')), (letter) =>
      letter.charCodeAt(0),
    )
  } catch {
    return undefined
  }
}
const encode = (bytes: Bytes): string =>
  btoa(String.fromCharCode(...bytes))
    .replaceAll('+', '-')
    .replaceAll('/', '_')
    .replaceAll('=', '')

const concatBytes = (...parts: readonly Uint8Array[]): Bytes => {
  const bytes = new Uint8Array(parts.reduce((sum, part) => sum + part.length, 0))
  let at = 0
  for (const part of parts) {
    bytes.set(part, at)
    at += part.length
  }
  return bytes
}
const uint32 = (value: number): Uint8Array =>
  Uint8Array.from([24, 16, 8, 0], (shift) => (value >>> shift) & 255)
/** Each field after its length in four bytes. */
const fields = (...list: readonly (string | Uint8Array)[]): Bytes =>
  concatBytes(
    ...list.flatMap((field) => {
      const bytes = typeof field === 'string' ? encoder.encode(field) : field
      return [uint32(bytes.length), bytes]
    }),
  )

/** RFC 9162, 2.1.3.2: whether the leaf at `index` is in the tree of `n` leaves with this root. */
const isIncluded = async (
  leaf: Bytes,
  position: { readonly index: number; readonly n: number },
  proof: readonly Bytes[],
  root: Bytes,
): Promise<boolean> => {
  let [node, hash] = [position.index, leaf]
  let last = position.n - 1
  for (const sibling of proof) {
    if (last === 0) return false
    if (node % 2 === 1 || node === last) {
      hash = await sha256(concatBytes(Uint8Array.of(1), sibling, hash))
      while (node % 2 === 0 && node !== 0) [node, last] = [node >> 1, last >> 1]
    } else hash = await sha256(concatBytes(Uint8Array.of(1), hash, sibling))
    ;[node, last] = [node >> 1, last >> 1]
  }
  return last === 0 && encode(hash) === encode(root)
}

/** Ends a check. It never leaves this file: callers get a result. */
class RecordingMismatch extends Error {
  readonly reason: TelemetryReason
  readonly seq: number
  constructor(reason: TelemetryReason, seq: number, message: string) {
    super(message)
    this.reason = reason
    this.seq = seq
  }
}
const asResult = async <T extends object>(
  work: () => Promise<T>,
): Promise<(T & { readonly ok: true }) | TelemetryFailure> => {
  try {
    return { ...(await work()), ok: true }
  } catch (error) {
    if (!(error instanceof RecordingMismatch)) throw error
    return { ok: false, reason: error.reason, seq: error.seq, message: error.message }
  }
}

const decrypt = async (key: Bytes, ciphertext: Bytes, seq: number): Promise<OpenedRecord> => {
  try {
    const algorithm = { name: 'AES-GCM', iv: new Uint8Array(12), tagLength: 8 * tagBytes }
    const imported = await subtle.importKey('raw', key, 'AES-GCM', false, ['decrypt'])
    const plain = await subtle.decrypt(algorithm, imported, ciphertext)
    const record = JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(plain)) as OpenedRecord
    if (record.v === 1 && record.seq === seq && typeof record.chunk === 'string') return record
  } catch {
    // Reported below: a wrong key and damaged bytes look alike.
  }
  throw new RecordingMismatch(
    'cannot_decrypt',
    seq,
    'The key does not open this record, or it is the record of another number.',
  )
}

const open = async (claim: TelemetryClaim, chunk: SealedChunk): Promise<OpenedRecord> => {
  const { seq } = chunk
  if (claim.alg !== 'sha256-chain-v1')
    throw new RecordingMismatch(
      'unknown_alg',
      seq,
      `The recording is of another kind: ${claim.alg.slice(0, 64)}.`,
    )
  const [ciphertext, key, root] = [decode(chunk.ciphertext), decode(chunk.key), decode(claim.root)]
  const proof = chunk.proof.slice(0, proofMax + 1).map(decode)
  const isNumber = Number.isInteger(seq) && seq >= 1 && seq <= claim.n && claim.n <= chunksMax
  if (!ciphertext || !key || !root || !isNumber || proof.length > proofMax || proof.includes(undefined))
    throw new RecordingMismatch('malformed', seq, 'The chunk, its key or its proof cannot be read.')
  const leaf = await sha256(concatBytes(Uint8Array.of(0), ciphertext))
  if (!(await isIncluded(leaf, { index: seq - 1, n: claim.n }, proof as Bytes[], root)))
    throw new RecordingMismatch(
      'not_included',
      seq,
      'This record is not at this place of the recording that was committed to.',
    )
  return decrypt(key, ciphertext, seq)
}

/** Opens one chunk of a recording: proves that the credential commits to it at this number. */
export const openChunk = (claim: TelemetryClaim, chunk: SealedChunk): Promise<OpenChunkResult> =>
  asResult(async () => ({ record: await open(claim, chunk) }))

/** The input of `checkChunks`. */
export type Recording = {
  readonly telemetry: TelemetryClaim
  readonly sessionId: string
  readonly opening: TelemetryOpening
  /** Chunks from the first on, without a gap. */
  readonly chunks: readonly SealedChunk[]
  /** The `cnf.jkt` of the credential: the thumbprint of the key that must have signed the recording. */
  readonly jkt?: string | undefined
}

const firstLink = async ({ opening, sessionId, jkt }: Recording): Promise<Bytes> => {
  const { key } = opening
  const thumbprint = encode(
    await sha256(
      concatBytes(encoder.encode(JSON.stringify({ crv: key.crv, kty: key.kty, x: key.x, y: key.y }))),
    ),
  )
  if (jkt !== undefined && jkt !== thumbprint)
    throw new RecordingMismatch(
      'wrong_key',
      0,
      'The recording is signed by another key than the credential names.',
    )
  const action = fields(
    'pohf.action.v1',
    opening.site,
    opening.kind,
    opening.workflowId ?? '',
    opening.challenge ?? '',
  )
  const nonce = decode(opening.nonce) ?? new Uint8Array()
  return sha256(fields('pohf.telemetry.v1', nonce, thumbprint, sessionId, await sha256(action)))
}

type ChunkContent = { receipt?: unknown; t0?: unknown; t1?: unknown; last?: { n?: unknown; ms?: unknown } }
const readChunkContent = (record: OpenedRecord): ChunkContent => {
  try {
    return (JSON.parse(record.chunk) as ChunkContent | null) ?? {}
  } catch {
    throw new RecordingMismatch('malformed', record.seq, 'The chunk is no JSON.')
  }
}

/**
 * Checks a recording from its first chunk on: every record is the one committed to, every chunk is signed by the session
 * key over the chain so far, names the receipt before it and begins where the last one ended; and, where all are there,
 * the end is signed and the chain ends where the credential says.
 */
export const checkChunks = (recording: Recording): Promise<CheckChunksResult> =>
  asResult(async () => {
    const { telemetry, chunks } = recording
    let link = await firstLink(recording)
    const algorithm = { name: 'ECDSA', namedCurve: 'P-256' }
    const key = await subtle
      .importKey('jwk', { ...recording.opening.key }, algorithm, false, ['verify'])
      .catch(() => undefined)
    if (!key) throw new RecordingMismatch('wrong_key', 0, 'The key of the opening is no key on P-256.')
    const records: OpenedRecord[] = []
    let clock = 0
    let end: ChunkContent['last']
    for (const [index, chunk] of chunks.entries()) {
      if (chunk.seq !== index + 1)
        throw new RecordingMismatch(
          'out_of_order',
          chunk.seq,
          'Chunks must come from the first on, without a gap.',
        )
      const record = await open(telemetry, chunk)
      const hash = await sha256(concatBytes(encoder.encode(record.chunk)))
      link = await sha256(fields(link, uint32(chunk.seq), hash))
      const signature = decode(record.signature) ?? new Uint8Array()
      if (!(await subtle.verify({ name: 'ECDSA', hash: 'SHA-256' }, key, signature, link)))
        throw new RecordingMismatch(
          'broken_chain',
          chunk.seq,
          'The session key has not signed this chunk after those before it.',
        )
      const sent = readChunkContent(record)
      if (sent.receipt !== record.after.token)
        throw new RecordingMismatch(
          'wrong_receipt',
          chunk.seq,
          'The chunk does not name the receipt before it.',
        )
      if (sent.t0 !== clock || typeof sent.t1 !== 'number')
        throw new RecordingMismatch(
          'wrong_clock',
          chunk.seq,
          'The chunk does not begin where the last one ended.',
        )
      clock = sent.t1
      end = sent.last
      records.push(record)
    }
    const complete = chunks.length === telemetry.n
    if (complete && (encode(link) !== telemetry.link || end?.n !== telemetry.n || end?.ms !== clock))
      throw new RecordingMismatch(
        'wrong_end',
        telemetry.n,
        'The chain does not end where the credential says.',
      )
    return { records, complete }
  })
