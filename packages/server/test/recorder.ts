import { createHash, webcrypto } from 'node:crypto'
import type { Receipt } from '@pohf/protocol'
import {
  actionBytes,
  firstLinkBytes,
  linkBytes,
  thumbprintText,
  type ProbeTruth,
} from '@pohf/protocol/telemetry'
import type { Pool } from 'pg'
import { truthOf } from '../src/sessions/probes.ts'
import type { ProbeSeed } from '../src/sessions/schedule.ts'
import type { Answered, Request } from './harness.ts'

/** How a recorder reaches the server: the harness, or a real line. */
type Send = (method: string, path: string, request: Request) => Promise<Answered>

const { subtle } = webcrypto
const sha256 = (bytes: Uint8Array | string): Buffer => createHash('sha256').update(bytes).digest()

export type SessionKeyPair = {
  readonly privateKey: webcrypto.CryptoKey
  readonly jwk: { kty: 'EC'; crv: 'P-256'; x: string; y: string }
}
export const makeSessionKey = async (): Promise<SessionKeyPair> => {
  const pair = await subtle.generateKey({ name: 'ECDSA', namedCurve: 'P-256' }, false, ['sign', 'verify'])
  const { x = '', y = '' } = await subtle.exportKey('jwk', pair.publicKey)
  return { privateKey: pair.privateKey, jwk: { kty: 'EC', crv: 'P-256', x, y } }
}

export const environment = {
  webdriver: false,
  width: 1_280,
  height: 720,
  touchPoints: 0,
  reducedMotion: false,
  coalesces: true,
}

export type ChunkFields = {
  readonly t1?: number
  readonly events?: readonly unknown[]
  /** Fields that go over those of an honest chunk. */
  readonly over?: Readonly<Record<string, unknown>>
}
export type MadeChunk = {
  readonly seq: number
  readonly chunk: string
  readonly signature: string
  readonly link: Buffer
  readonly t1: number
}

type Opening = {
  readonly send: Send
  readonly site: string
  readonly kind?: 'view' | 'work' | 'task'
  readonly workflowId?: string
  readonly challenge?: string
  readonly headers?: Record<string, string>
  readonly key?: SessionKeyPair
}

/**
 * Speaks telemetry v1 as an honest page does, one step at a time, so that a test can be dishonest at any of them:
 * `make` builds a chunk and changes nothing, `post` sends one, `take` remembers that it was received.
 */
export const openRecorder = async (opening: Opening) => {
  const key = opening.key ?? (await makeSessionKey())
  const kind = opening.kind ?? 'view'
  const { site, workflowId, challenge } = opening
  const created = await opening.send('POST', '/api/sessions', {
    body: { site, kind, workflowId, challenge, key: key.jwk },
    ...(opening.headers ? { headers: opening.headers } : {}),
  })
  if (created.status !== 200) throw new Error(`no session: ${created.text}`)
  const {
    sessionId,
    nonce,
    receipt: first,
  } = created.json as {
    sessionId: string
    nonce: string
    receipt: Receipt
  }
  let receipt = first
  let seq = 0
  let clock = 0
  let link = sha256(
    firstLinkBytes({
      nonce: Buffer.from(nonce, 'base64url'),
      jkt: sha256(thumbprintText(key.jwk)).toString('base64url'),
      sessionId,
      actionHash: sha256(actionBytes({ site, kind, workflowId, challenge })),
    }),
  )

  const sign = async (chunk: string, number: number, previous: Buffer, by = key) => {
    const next = sha256(linkBytes(previous, number, sha256(chunk)))
    const signature = await subtle.sign({ name: 'ECDSA', hash: 'SHA-256' }, by.privateKey, next)
    return { link: next, signature: Buffer.from(signature).toString('base64url') }
  }
  const make = async (fields: ChunkFields = {}): Promise<MadeChunk> => {
    const number = seq + 1
    const t1 = fields.t1 ?? clock + 1
    const chunk = JSON.stringify({
      v: 1,
      seq: number,
      receipt: receipt.token,
      t0: clock,
      t1,
      ...(number === 1 ? { env: environment } : {}),
      ev: fields.events ?? [],
      ...fields.over,
    })
    return { seq: number, chunk, t1, ...(await sign(chunk, number, link)) }
  }
  const post = (
    made: { chunk: string; signature: string },
    operation: 'telemetry' | 'finish' = 'telemetry',
  ) =>
    opening.send('POST', `/api/sessions/${sessionId}/${operation}`, {
      body: { chunk: made.chunk, signature: made.signature },
    })
  const take = (made: MadeChunk, answer: Answered): Receipt => {
    seq = made.seq
    link = made.link
    clock = made.t1
    receipt = (answer.json as { receipt?: Receipt }).receipt ?? receipt
    return receipt
  }
  /** An honest chunk, sent and received. */
  const chunk = async (fields: ChunkFields = {}): Promise<Receipt> => {
    const made = await make(fields)
    const answer = await post(made)
    if (answer.status !== 200) throw new Error(`refused: ${answer.text}`)
    return take(made, answer)
  }
  const makeLast = async (fields: ChunkFields = {}): Promise<MadeChunk> => {
    const t1 = fields.t1 ?? clock + 1
    return make({ ...fields, t1, over: { last: { n: seq + 1, ms: t1 }, ...fields.over } })
  }
  /** An honest end. */
  const finish = async (fields: ChunkFields = {}): Promise<Answered> => {
    const made = await makeLast(fields)
    const answer = await post(made, 'finish')
    if (answer.status === 200) take(made, answer)
    return answer
  }
  return {
    sessionId,
    nonce,
    key,
    created,
    sign,
    make,
    makeLast,
    post,
    take,
    chunk,
    finish,
    now: () => ({ seq, clock, link, receipt }),
  }
}
export type Recorder = Awaited<ReturnType<typeof openRecorder>>

/** What an open probe asks for, read behind the server's back; undefined where none was just asked. */
export const peekTruth = async (owner: Pool, sessionId: string): Promise<ProbeTruth | undefined> => {
  const { rows } = await owner.query<{ probe: ProbeSeed | null }>(
    "select state -> 'given' -> 'probe' as probe from session_recorders where session_id = $1",
    [sessionId],
  )
  const probe = rows[0]?.probe
  return probe ? truthOf(probe) : undefined
}

/** Painted after 40 ms, answered 800 ms later: right, or on a place where nothing is. */
export const answerOf = (truth: ProbeTruth, isRight: boolean): unknown[] => [
  ['o', 40, truth.id],
  truth.kind === 'point'
    ? ['a', 800, truth.id, 'm', 1, isRight ? truth.x : truth.x < 160 ? 319 : 1, truth.y]
    : ['b', 800, truth.id, 'k', 1, isRight ? truth.choice : (truth.choice + 1) % 4],
]

type Attending = {
  readonly harness: { readonly owner: Pool; readonly advance: (ms: number) => Promise<void> }
  readonly recorder: Recorder
  /** Whether the n-th probe, from 0, is answered rightly; undefined leaves it unanswered. */
  readonly answers?: (n: number) => boolean | undefined
  /** What else happens in each chunk; its steps must end within 100 ms. */
  readonly between?: readonly unknown[]
}
/** Plays a person until all probes are done; gives the last receipt. Time is moved, not waited for. */
export const attend = async ({ harness, recorder, answers, between = [] }: Attending): Promise<Receipt> => {
  let asked = 0
  for (let step = 0; step < 100; step++) {
    const { receipt, clock } = recorder.now()
    if (receipt.progress.done === receipt.progress.of) return receipt
    const truth = await peekTruth(harness.owner, recorder.sessionId)
    const isRight = truth ? (answers ?? (() => true))(asked++) : undefined
    await harness.advance(receipt.nextMs)
    const answered = truth && isRight !== undefined ? answerOf(truth, isRight) : []
    await recorder.chunk({ t1: clock + receipt.nextMs, events: [...between, ...answered] })
  }
  throw new Error('the probes do not come to an end')
}
