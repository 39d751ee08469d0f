// The pages of many people, in a process of their own: opens sessions, signs and sends chunks as receipts ask, ends them.
import { createHash, generateKeyPairSync, sign, type KeyObject } from 'node:crypto'
import { Agent, request } from 'node:http'
import { setTimeout } from 'node:timers/promises'
import type { Receipt } from '@pohf/protocol'
import { actionBytes, firstLinkBytes, linkBytes, thumbprintText } from '@pohf/protocol/telemetry'

const [baseUrl = '', site = '', count = '', seconds = ''] = process.argv.slice(2)
const agent = new Agent({ keepAlive: true })
const sha256 = (bytes: Uint8Array | string): Buffer => createHash('sha256').update(bytes).digest()

const tally = {
  chunks: 0,
  toldToWait: 0,
  refused: 0,
  failed: 0,
  bytesUp: 0,
  bytesDown: 0,
  probes: 0,
  finished: 0,
  /** Answers without a verdict. */
  pending: 0,
}
/** Milliseconds from sending to the answer, with every retry. `verdict`: until it is not `pending` any more. */
const latencies = {
  chunk: [] as number[],
  duringFinishes: [] as number[],
  finish: [] as number[],
  verdict: [] as number[],
}
let hasFinishBegun = false

const post = (path: string, body: unknown): Promise<{ status: number; json: unknown }> =>
  new Promise((resolve, reject) => {
    const text = JSON.stringify(body)
    tally.bytesUp += Buffer.byteLength(text)
    const call = request(
      `${baseUrl}${path}`,
      {
        method: 'POST',
        agent,
        headers: { 'content-type': 'text/plain', 'content-length': Buffer.byteLength(text) },
      },
      (response) => {
        const parts: Buffer[] = []
        response.on('data', (part: Buffer) => parts.push(part))
        response.on('end', () => {
          const answer = Buffer.concat(parts)
          tally.bytesDown += answer.length
          resolve({ status: response.statusCode ?? 0, json: JSON.parse(answer.toString('utf8')) })
        })
      },
    )
    call.on('error', reject)
    call.end(text)
  })

/** A pointer that moves half of the time at 60 Hz, and a few other events: about 450 bytes a second. */
const eventsOf = (ms: number, seq: number): unknown[] => {
  const points = Math.max(1, Math.floor(ms / 16.7 / 2))
  const steps = Array.from({ length: points - 1 }, (_, n) => [
    16,
    ((n * seq) % 9) - 4,
    ((n * 7 + seq) % 5) - 2,
  ])
  return [
    ['f', 0, 1, 1, 100],
    ['m', 5, 'm', 1, points, [400, 300, ...steps.flat()]],
    ['s', 1, 40],
  ]
}

type Page = {
  privateKey: KeyObject
  sessionId: string
  link: Buffer
  receipt: Receipt
  seq: number
  clock: number
}

const open = async (): Promise<Page> => {
  const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  const { x = '', y = '' } = publicKey.export({ format: 'jwk' })
  const key = { kty: 'EC', crv: 'P-256', x, y }
  const { status, json } = await post('/api/sessions', { site, kind: 'view', key })
  if (status !== 200) throw new Error(`session for ${site} not opened: ${status} ${JSON.stringify(json)}`)
  const { sessionId, nonce, receipt } = json as { sessionId: string; nonce: string; receipt: Receipt }
  if (receipt.probe) tally.probes += 1
  const opening = {
    nonce: Buffer.from(nonce, 'base64url'),
    jkt: sha256(thumbprintText({ x, y })).toString('base64url'),
    sessionId,
    actionHash: sha256(actionBytes({ site, kind: 'view' })),
  }
  return { privateKey, sessionId, link: sha256(firstLinkBytes(opening)), receipt, seq: 0, clock: 0 }
}

const environment = {
  webdriver: false,
  width: 1280,
  height: 720,
  touchPoints: 0,
  reducedMotion: false,
  coalesces: true,
}

const attemptsMax = 5

/** As a page does: what was not taken is sent again, byte for byte. */
const postAgain = async (path: string, body: unknown) => {
  let answer = await post(path, body)
  for (let again = 1; answer.status === 503 && again <= attemptsMax; again += 1) {
    tally.toldToWait += 1
    await setTimeout(2_000 * again)
    answer = await post(path, body)
  }
  if (answer.status === 200) return answer.json
  tally.refused += 1
  throw new Error(`${path} refused: ${answer.status} ${JSON.stringify(answer.json)}`)
}

/** The next chunk, signed, and the link after it. */
const signChunk = (page: Page, ms: number, isLast: boolean) => {
  const [seq, t1] = [page.seq + 1, page.clock + ms]
  const chunk = JSON.stringify({
    v: 1,
    seq,
    receipt: page.receipt.token,
    t0: page.clock,
    t1,
    ...(seq === 1 ? { env: environment } : {}),
    ev: ms > 100 ? eventsOf(ms, seq) : [],
    ...(isLast ? { last: { n: seq, ms: t1 } } : {}),
  })
  const link = sha256(linkBytes(page.link, seq, sha256(chunk)))
  const key = { key: page.privateKey, dsaEncoding: 'ieee-p1363' } as const
  return { signed: { chunk, signature: sign('sha256', link, key).toString('base64url') }, seq, t1, link }
}

const send = async (page: Page, ms: number): Promise<void> => {
  const { signed, seq, t1, link } = signChunk(page, ms, false)
  const [startedAt, isDuringFinishes] = [performance.now(), hasFinishBegun]
  const json = await postAgain(`/api/sessions/${page.sessionId}/telemetry`, signed)
  const tookMs = performance.now() - startedAt
  latencies.chunk.push(tookMs)
  if (isDuringFinishes || hasFinishBegun) latencies.duringFinishes.push(tookMs)
  tally.chunks += 1
  Object.assign(page, { seq, clock: t1, link, receipt: (json as { receipt: Receipt }).receipt })
  if (page.receipt.probe) tally.probes += 1
}

const verdictPollMs = 1_000
const verdictPollsMax = 30

const finish = async (page: Page): Promise<void> => {
  const { signed } = signChunk(page, 1, true)
  const path = `/api/sessions/${page.sessionId}/finish`
  const startedAt = performance.now()
  hasFinishBegun = true
  let told = (await postAgain(path, signed)) as { verdict: string }
  latencies.finish.push(performance.now() - startedAt)
  for (let polls = 0; told.verdict === 'pending' && polls < verdictPollsMax; polls += 1) {
    tally.pending += 1
    await setTimeout(verdictPollMs)
    told = (await postAgain(path, signed)) as { verdict: string }
  }
  latencies.verdict.push(performance.now() - startedAt)
  tally.finished += 1
}

/** One page from its opening to its end, begun somewhere in the first ten seconds. */
const runSession = async (index: number, sessions: number, forMs: number): Promise<void> => {
  await setTimeout((10_000 * index) / sessions)
  try {
    const page = await open()
    const startedAt = performance.now()
    const at = () => Math.floor(performance.now() - startedAt)
    while (at() < forMs) {
      await setTimeout(page.receipt.nextMs)
      await send(page, at() - page.clock)
    }
    await finish(page)
  } catch (error) {
    tally.failed += 1
    if (tally.failed <= 3) console.error(error)
  }
}

const sessions = Number(count)
await Promise.all(
  Array.from({ length: sessions }, (_, index) => runSession(index, sessions, Number(seconds) * 1_000)),
)
agent.destroy()
const quantilesOf = (values: readonly number[]) => {
  const sorted = values.toSorted((a, b) => a - b)
  const quantile = (share: number) =>
    sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? null
  return { p50: quantile(0.5), p95: quantile(0.95), p99: quantile(0.99), max: sorted.at(-1) ?? null }
}
const { user, system } = process.cpuUsage()
console.log(
  JSON.stringify({
    ...tally,
    chunkMs: quantilesOf(latencies.chunk),
    chunkDuringFinishesMs: quantilesOf(latencies.duringFinishes),
    finishMs: quantilesOf(latencies.finish),
    verdictMs: quantilesOf(latencies.verdict),
    cpuMs: (user + system) / 1_000,
  }),
)
