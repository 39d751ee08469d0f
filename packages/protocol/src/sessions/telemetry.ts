/**
 * Telemetry protocol v1: how a session is recorded, hashed, signed and opened again. docs/reference/telemetry.md says why.
 * No dependencies and no platform: the collector, the server, the scorer and an auditor's browser share it. The caller
 * provides SHA-256; these functions return only its input.
 */

export const telemetryAlg = 'sha256-chain-v1'

export const telemetryLimits = {
  /** UTF-8 bytes of one chunk. */
  chunkBytes: 65_536,
  chunksPerSession: 2_000,
  bytesPerSession: 4_194_304,
  eventsPerChunk: 4_000,
  pointsPerRun: 1_000,
  /** Around a chunk's own times: how far a client's clock may run ahead of the server's. */
  aheadMs: 2_000,
} as const

const encoder = new TextEncoder()

/** Each field after its length in four bytes, so that no two lists of fields have the same bytes. */
export const lengthPrefixed = (...fields: readonly (string | Uint8Array)[]): Uint8Array<ArrayBuffer> => {
  const parts = fields.map((field) => (typeof field === 'string' ? encoder.encode(field) : field))
  const bytes = new Uint8Array(parts.reduce((sum, part) => sum + 4 + part.length, 0))
  const view = new DataView(bytes.buffer)
  let at = 0
  for (const part of parts) {
    view.setUint32(at, part.length)
    bytes.set(part, at + 4)
    at += 4 + part.length
  }
  return bytes
}

export type Action = {
  readonly site: string
  readonly kind: string
  readonly workflowId?: string | null | undefined
  readonly challenge?: string | null | undefined
}
/** Hashed, this is the action that the session was opened for. */
export const actionBytes = (action: Action) =>
  lengthPrefixed('pohf.action.v1', action.site, action.kind, action.workflowId ?? '', action.challenge ?? '')

type Opening = {
  readonly nonce: Uint8Array
  /** RFC 7638 thumbprint of the session key, as text. */
  readonly jkt: string
  readonly sessionId: string
  readonly actionHash: Uint8Array
}
/** Hashed, this is link 0. */
export const firstLinkBytes = (opening: Opening) =>
  lengthPrefixed('pohf.telemetry.v1', opening.nonce, opening.jkt, opening.sessionId, opening.actionHash)

/** Hashed, this is link `seq`. The session key signs the link. */
export const linkBytes = (previous: Uint8Array, seq: number, chunkHash: Uint8Array) => {
  const number = new Uint8Array(4)
  new DataView(number.buffer).setUint32(0, seq)
  return lengthPrefixed(previous, number, chunkHash)
}

/** Hashed, this is the RFC 7638 thumbprint of a P-256 key. */
export const thumbprintText = (key: { readonly x: string; readonly y: string }): string =>
  JSON.stringify({ crv: 'P-256', kty: 'EC', x: key.x, y: key.y })

/** What the key of a returning browser signs: the site, and the thumbprint of the key of this session. */
export const browserProofText = (site: string, jkt: string): string =>
  ['pohf.browser.v1', site, jkt].join('\0')

/** Hashed, these are a leaf and a node of the RFC 6962 tree over the encrypted records. */
export const leafBytes = (ciphertext: Uint8Array): Uint8Array<ArrayBuffer> => {
  const bytes = new Uint8Array(1 + ciphertext.length)
  bytes.set(ciphertext, 1)
  return bytes
}
export const nodeBytes = (left: Uint8Array, right: Uint8Array): Uint8Array<ArrayBuffer> => {
  const bytes = new Uint8Array(1 + left.length + right.length)
  bytes[0] = 1
  bytes.set(left, 1)
  bytes.set(right, 1 + left.length)
  return bytes
}

/** Mouse, touch, pen; for clicks also `k`: from a keyboard or an assistive device. */
export type PointerKind = 'm' | 't' | 'p'

type EventTime = { readonly t: number }
export type TelemetryEvent = EventTime &
  (
    | {
        readonly type: 'motion'
        readonly pointer: PointerKind
        readonly trusted: boolean
        /** How many events the browser dispatched for these points; fewer than points where it coalesced them. */
        readonly dispatched: number
        readonly points: readonly { readonly t: number; readonly x: number; readonly y: number }[]
      }
    | {
        readonly type: 'down' | 'up'
        readonly pointer: PointerKind
        readonly trusted: boolean
        readonly x: number
        readonly y: number
      }
    | { readonly type: 'click'; readonly how: PointerKind | 'k'; readonly trusted: boolean }
    | {
        readonly type: 'key'
        readonly phase: 'down' | 'up'
        /** Whether it moves or presses something (Tab, arrows, Enter, Space, Escape) or is any other key. */
        readonly navigates: boolean
        readonly trusted: boolean
      }
    | { readonly type: 'scroll'; readonly dy: number }
    | {
        readonly type: 'focus'
        readonly visible: boolean
        readonly focused: boolean
        /** Per cent of the watched element inside the viewport. */
        readonly share: number
      }
    | { readonly type: 'honeypot' }
    | { readonly type: 'alternative' }
    /** The person is ready for a question: an approval is asked about only then. */
    | { readonly type: 'ask' }
    | { readonly type: 'shown'; readonly probe: string }
    | {
        readonly type: 'point'
        readonly probe: string
        readonly how: PointerKind
        readonly trusted: boolean
        /** In pixels of the probe's image. */
        readonly x: number
        readonly y: number
      }
    | {
        readonly type: 'choose'
        readonly probe: string
        readonly how: PointerKind | 'k'
        readonly trusted: boolean
        readonly choice: number
      }
    | { readonly type: 'lost'; readonly count: number }
  )

/** The page's environment, in its first chunk. Nothing here identifies a person. */
export type TelemetryEnvironment = {
  readonly webdriver: boolean
  readonly width: number
  readonly height: number
  readonly touchPoints: number
  readonly reducedMotion: boolean
  readonly coalesces: boolean
}

export type TelemetryChunk = {
  readonly seq: number
  /** The token of the receipt before it. */
  readonly receipt: string
  /** Milliseconds since the first receipt arrived, by the page's monotonic clock. */
  readonly t0: number
  readonly t1: number
  readonly environment: TelemetryEnvironment | null
  readonly events: readonly TelemetryEvent[]
  readonly last: { readonly n: number; readonly ms: number } | null
}

/** The right answer of a probe. It never leaves the server before the answer. */
export type ProbeTruth =
  | {
      readonly id: string
      readonly kind: 'point'
      readonly x: number
      readonly y: number
      readonly radius: number
      readonly fromMs: number
      readonly toMs: number
    }
  | {
      readonly id: string
      readonly kind: 'choose'
      readonly choice: number
      readonly fromMs: number
      readonly toMs: number
    }

/** One leaf of the tree, before encryption: the page's chunk, its arrival, and the receipt that it follows. */
export type TelemetryRecord = {
  readonly v: 1
  readonly seq: number
  /** The chunk's own text, byte for byte. */
  readonly chunk: string
  /** base64url, r and s of 32 bytes each. */
  readonly signature: string
  readonly receivedAt: number
  /** The receipt that this chunk follows. */
  readonly after: {
    readonly at: number
    readonly token: string
    readonly probe: ProbeTruth | null
    /** Only in the first record, and only where the browser passed on an earlier day on this site. */
    readonly returning?: true
  }
}

const isWhole = (value: unknown, min: number, max: number): value is number =>
  Number.isInteger(value) && (value as number) >= min && (value as number) <= max
const isBit = (value: unknown): value is 0 | 1 => value === 0 || value === 1
const timeMax = 86_400_000
const isStep = (value: unknown): value is number => isWhole(value, 0, timeMax)
const isCoordinate = (value: unknown): value is number => isWhole(value, -100_000, 100_000)
const isPointer = (value: unknown): value is PointerKind => value === 'm' || value === 't' || value === 'p'
const isInputMethod = (value: unknown): value is PointerKind | 'k' => isPointer(value) || value === 'k'
const isProbe = (value: unknown): value is string =>
  typeof value === 'string' && /^[A-Za-z0-9_-]{1,32}$/.test(value)

type Fields = readonly unknown[]

const readRun = (flat: unknown, t: number) => {
  if (!Array.isArray(flat) || flat.length < 2 || flat.length % 3 !== 2) return undefined
  if (flat.length > 3 * telemetryLimits.pointsPerRun) return undefined
  const [x0, y0, ...rest] = flat as Fields
  if (!isCoordinate(x0) || !isCoordinate(y0)) return undefined
  const points = [{ t, x: x0, y: y0 }]
  let point = { t, x: x0, y: y0 }
  for (let at = 0; at < rest.length; at += 3) {
    const [step, dx, dy] = [rest[at], rest[at + 1], rest[at + 2]]
    if (!isStep(step) || !isCoordinate(dx) || !isCoordinate(dy)) return undefined
    point = { t: point.t + step, x: point.x + dx, y: point.y + dy }
    points.push(point)
  }
  return points
}

const readPress = (
  type: 'down' | 'up',
  t: number,
  [pointer, trusted, x, y]: Fields,
): TelemetryEvent | undefined =>
  isPointer(pointer) && isBit(trusted) && isCoordinate(x) && isCoordinate(y)
    ? { type, t, pointer, trusted: trusted === 1, x, y }
    : undefined

/** Reads the fields after tag and time; undefined for anything that v1 does not know. */
const readers: ReadonlyMap<unknown, (t: number, fields: Fields) => TelemetryEvent | undefined> = new Map<
  unknown,
  (t: number, fields: Fields) => TelemetryEvent | undefined
>([
  [
    'm',
    (t, [pointer, trusted, dispatched, flat]) => {
      if (!isPointer(pointer) || !isBit(trusted) || !isWhole(dispatched, 1, 10_000)) return undefined
      const points = readRun(flat, t)
      return points && { type: 'motion', t, pointer, trusted: trusted === 1, dispatched, points }
    },
  ],
  ['d', (t, fields) => readPress('down', t, fields)],
  ['u', (t, fields) => readPress('up', t, fields)],
  [
    'c',
    (t, [how, trusted]) =>
      isInputMethod(how) && isBit(trusted) ? { type: 'click', t, how, trusted: trusted === 1 } : undefined,
  ],
  [
    'k',
    (t, [phase, navigates, trusted]) =>
      (phase === 'd' || phase === 'u') && isBit(navigates) && isBit(trusted)
        ? {
            type: 'key',
            t,
            phase: phase === 'd' ? 'down' : 'up',
            navigates: navigates === 1,
            trusted: trusted === 1,
          }
        : undefined,
  ],
  ['s', (t, [dy]) => (isWhole(dy, -1_000_000, 1_000_000) ? { type: 'scroll', t, dy } : undefined)],
  [
    'f',
    (t, [visible, focused, share]) =>
      isBit(visible) && isBit(focused) && isWhole(share, 0, 100)
        ? { type: 'focus', t, visible: visible === 1, focused: focused === 1, share }
        : undefined,
  ],
  ['h', (t) => ({ type: 'honeypot', t })],
  ['x', (t) => ({ type: 'alternative', t })],
  ['q', (t) => ({ type: 'ask', t })],
  ['o', (t, [probe]) => (isProbe(probe) ? { type: 'shown', t, probe } : undefined)],
  [
    'a',
    (t, [probe, how, trusted, x, y]) =>
      isProbe(probe) && isPointer(how) && isBit(trusted) && isCoordinate(x) && isCoordinate(y)
        ? { type: 'point', t, probe, how, trusted: trusted === 1, x, y }
        : undefined,
  ],
  [
    'b',
    (t, [probe, how, trusted, choice]) =>
      isProbe(probe) && isInputMethod(how) && isBit(trusted) && isWhole(choice, 0, 9)
        ? { type: 'choose', t, probe, how, trusted: trusted === 1, choice }
        : undefined,
  ],
  ['l', (t, [count]) => (isWhole(count, 1, 1_000_000) ? { type: 'lost', t, count } : undefined)],
])

/** The number of fields after tag and time: v1 allows no others. */
const fieldCounts: ReadonlyMap<unknown, number> = new Map<unknown, number>(
  Object.entries({ m: 4, d: 4, u: 4, c: 2, k: 3, s: 1, f: 3, h: 0, x: 0, q: 0, o: 1, a: 5, b: 4, l: 1 }),
)

const endOf = (event: TelemetryEvent): number =>
  event.type === 'motion' ? (event.points.at(-1)?.t ?? event.t) : event.t

const readEvents = (list: unknown, t0: number, t1: number): TelemetryEvent[] | undefined => {
  if (!Array.isArray(list) || list.length > telemetryLimits.eventsPerChunk) return undefined
  const events: TelemetryEvent[] = []
  let clock = t0
  for (const item of list as Fields) {
    if (!Array.isArray(item)) return undefined
    const [tag, step, ...fields] = item as Fields
    if (!isStep(step) || fields.length !== fieldCounts.get(tag)) return undefined
    const event = readers.get(tag)?.(clock + step, fields)
    if (!event) return undefined
    clock = endOf(event)
    if (clock > t1) return undefined
    events.push(event)
  }
  return events
}

const isRecord = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

const readEnvironment = (value: unknown): TelemetryEnvironment | undefined => {
  if (!isRecord(value)) return undefined
  const { webdriver, width, height, touchPoints, reducedMotion, coalesces } = value
  return typeof webdriver === 'boolean' &&
    isWhole(width, 0, 100_000) &&
    isWhole(height, 0, 100_000) &&
    isWhole(touchPoints, 0, 256) &&
    typeof reducedMotion === 'boolean' &&
    typeof coalesces === 'boolean'
    ? { webdriver, width, height, touchPoints, reducedMotion, coalesces }
    : undefined
}

const parse = (text: string): unknown => {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

/** A chunk's text as its events with times since the session began; undefined where it is not a v1 chunk. */
export const readChunk = (text: string): TelemetryChunk | undefined => {
  const value = parse(text)
  if (!isRecord(value) || value['v'] !== 1) return undefined
  const { seq, receipt, t0, t1, env, ev, last } = value
  if (!isWhole(seq, 1, telemetryLimits.chunksPerSession) || !isStep(t0) || !isStep(t1) || t1 < t0)
    return undefined
  if (typeof receipt !== 'string' || !/^[A-Za-z0-9_-]{22}$/.test(receipt)) return undefined
  const environment = env === undefined ? null : readEnvironment(env)
  const events = readEvents(ev, t0, t1)
  if (environment === undefined || events === undefined) return undefined
  if (last === undefined) return { seq, receipt, t0, t1, environment, events, last: null }
  if (!isRecord(last) || !isWhole(last['n'], 1, telemetryLimits.chunksPerSession) || !isStep(last['ms']))
    return undefined
  return { seq, receipt, t0, t1, environment, events, last: { n: last['n'], ms: last['ms'] } }
}
