// Plays many sessions of one bot against a running server and asks the server what became of each.
import { setTimeout as sleep } from 'node:timers/promises'
import type { Bot, BotContext, BotOutcome } from './bots/bot.ts'
import type { SessionScore } from '@pohf/scorer'
import { scoreRecords } from './score-records.ts'
import { readRecords } from './protocol/records.ts'
import { createRandom } from './random.ts'

export type BotRunOptions = Omit<BotContext, 'random' | 'signal'> & {
  readonly name: string
  readonly bot: Bot
  readonly sessions: number
  readonly concurrency: number
  readonly seed: number
  /** A key of the site, with which results are read. Without one only the bot's own word is known. */
  readonly apiKey: string | undefined
}

/** The verdict of the server on a session that it has scored. */
type Verdict = {
  readonly status: string
  readonly verified: boolean | null
  readonly quality: number | null
  readonly assurance: string | null
  readonly flags: readonly string[]
  readonly reasons: readonly string[]
  readonly components: Readonly<Record<string, number | null>> | null
}

type SessionRun = {
  readonly outcome: BotOutcome | undefined
  readonly verdict: Verdict | undefined
  /** What the rules make of the server's own record, computed here; undefined without a key. */
  readonly judgement: SessionScore | undefined
  /** Why it came to nothing, where it did. */
  readonly fault: string | undefined
  readonly wallMs: number
}

const sessionMsMax = 180_000
const verdictAttemptsMax = 20

const readVerdict = async (contest: BotRunOptions, sessionId: string): Promise<Verdict | undefined> => {
  if (contest.apiKey === undefined) return undefined
  const url = new URL(`/api/agents/sessions/${encodeURIComponent(sessionId)}`, contest.target.baseUrl)
  let last: Verdict | undefined
  for (let attempt = 0; attempt < verdictAttemptsMax; attempt += 1) {
    const response = await fetch(url, {
      headers: { authorization: `Bearer ${contest.apiKey}` },
      signal: AbortSignal.timeout(15_000),
    })
    if (!response.ok)
      throw new Error(`session ${sessionId} cannot be read: ${response.status} ${await response.text()}`)
    const verdict = (await response.json()) as Verdict
    last = verdict
    if (verdict.verified !== null) return verdict
    await sleep(250)
  }
  return last
}

const scoreSessionRecords = async (
  { apiKey, target }: BotRunOptions,
  sessionId: string,
): Promise<SessionScore | undefined> =>
  apiKey === undefined
    ? undefined
    : scoreRecords(await readRecords({ baseUrl: target.baseUrl, apiKey }, sessionId), target.kind ?? 'view')

const runSession = async (contest: BotRunOptions, index: number): Promise<SessionRun> => {
  const startedAt = performance.now()
  let outcome: BotOutcome | undefined
  try {
    outcome = await contest.bot({
      ...contest,
      random: createRandom(contest.seed * 10_007 + index),
      signal: AbortSignal.timeout(sessionMsMax),
    })
    const wallMs = performance.now() - startedAt
    const { sessionId } = outcome
    const verdict = await readVerdict(contest, sessionId)
    return {
      outcome,
      verdict,
      judgement: await scoreSessionRecords(contest, sessionId),
      fault: undefined,
      wallMs,
    }
  } catch (error) {
    const fault = error instanceof Error ? error.message : String(error)
    return { outcome, verdict: undefined, judgement: undefined, fault, wallMs: performance.now() - startedAt }
  }
}

/** The server's verdict where it has scored the session, else our own computation by the same rules. */
const verdictOf = ({ verdict, judgement }: SessionRun) =>
  verdict && verdict.verified !== null ? verdict : judgement

export type BotRunResult = {
  readonly name: string
  readonly played: readonly SessionRun[]
  readonly verified: number
  readonly meanWallMs: number
  /** Processor time of this machine's bots for one session. */
  readonly meanCpuMs: number
}

/** Plays all sessions of a contest, some at a time. */
export const runBot = async (contest: BotRunOptions): Promise<BotRunResult> => {
  const played: SessionRun[] = []
  const before = process.cpuUsage()
  let next = 0
  const worker = async () => {
    for (let index = next++; index < contest.sessions; index = next++)
      played.push(await runSession(contest, index))
  }
  await Promise.all(Array.from({ length: Math.min(contest.concurrency, contest.sessions) }, worker))
  const spent = process.cpuUsage(before)
  return {
    name: contest.name,
    played,
    verified: played.filter((one) => verdictOf(one)?.verified === true).length,
    meanWallMs: played.reduce((sum, { wallMs }) => sum + wallMs, 0) / played.length,
    meanCpuMs: (spent.user + spent.system) / 1_000 / played.length,
  }
}

const seconds = (ms: number) => `${(ms / 1_000).toFixed(1)} s`

const tally = (words: readonly string[]): string =>
  [...Map.groupBy(words, (word) => word)]
    .toSorted(([, a], [, b]) => b.length - a.length)
    .map(([word, all]) => `${word} ${all.length}`)
    .join(', ')

/** Why sessions were not verified: flags first, then the reasons, else what went wrong. */
const reasonsOf = ({ played }: BotRunResult): string =>
  tally(
    played.flatMap((one) => {
      const verdict = verdictOf(one)
      if (verdict?.verified === true) return []
      if (one.fault !== undefined) return [one.fault.slice(0, 80)]
      const words = new Set([...(verdict?.flags ?? []), ...(verdict?.reasons ?? [])])
      return words.size > 0 ? [...words] : [one.verdict?.status ?? one.outcome?.status ?? 'unknown']
    }),
  )

const median = (values: readonly number[]): string => {
  const middle = values.toSorted((a, b) => a - b)[values.length >> 1]
  return middle === undefined ? '' : middle.toFixed(2)
}

/** One row per bot, as a table of Markdown. The cost is wall and processor time per verified session. */
export const tableOf = (results: readonly BotRunResult[]): string => {
  const rows = results.map((result) => {
    const { played, verified } = result
    const asked = played.reduce((sum, { judgement }) => sum + (judgement?.evidence.probes ?? 0), 0)
    const hit = played.reduce((sum, { judgement }) => sum + (judgement?.evidence.hits ?? 0), 0)
    const quality = median(played.flatMap((one) => verdictOf(one)?.quality ?? []))
    const motion = median(played.flatMap(({ judgement }) => judgement?.evidence.p ?? []))
    const share = played.length / Math.max(1, verified)
    const cost =
      verified === 0
        ? 'none made'
        : `${seconds(result.meanWallMs * share)}, ${Math.round(result.meanCpuMs * share)} ms CPU`
    return `| ${result.name} | ${played.length} | ${verified} | ${quality} | ${motion} | ${hit} of ${asked} | ${reasonsOf(result)} | ${seconds(result.meanWallMs)} | ${cost} |`
  })
  return [
    '| Bot | Sessions | Verified | Median quality | Motion as human | Probes hit | Not verified because | Time each | One forged session costs |',
    '| --- | --- | --- | --- | --- | --- | --- | --- | --- |',
    ...rows,
  ].join('\n')
}
