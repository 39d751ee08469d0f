// How long the check takes a person: an ordinary Chromium on a virtual screen, moved and typed into by input events of the
// system, against a server process. The person is played: eyes, reaction and hand are models.
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { Client } from 'pg'
import { playPerson, servePage, type Person } from '../../packages/arena/src/index.ts'
import { passCheckByKeys } from '../../packages/arena/src/browser/stealth.ts'
import { callOver } from '../../packages/server/test/fixtures/processes/attacked-server.ts'
import { startServer } from '../../packages/server/test/fixtures/processes/server.ts'
import { closingAfter, makeFolder, open } from '../driver/closing.ts'
import { programOf, starting, step } from '../driver/program.ts'
import { tableOfRecords, type Table } from '../driver/report.ts'
import { median, rounded, sum } from '../driver/rounds.ts'
import { readScript, timesOf, watchScript, type CheckTimes, type Timeline } from './check-timeline.ts'

/** A network has 50 returning browsers a day; all of ours come from one address. */
const runsMax = 50
const runMsMax = 120_000
/** A browser that is not recognised at this visit never is. */
const visitsMax = 4
const dayMs = 86_400_000

/** Budgets count, so that a verdict reserves its places, and no run uses them up. */
const settings = {
  ROOT_BUDGETS: 'on',
  ROOT_ADDRESS_PER_HOUR: '1000000',
  ROOT_ADDRESS_PER_DAY: '1000000',
  ROOT_NETWORK_PER_HOUR: '1000000',
  ROOT_NETWORK_PER_DAY: '1000000',
}

const groupNames = ['new', 'returning', 'keyboard'] as const
type GroupName = (typeof groupNames)[number]
const titles: Readonly<Record<GroupName, string>> = {
  new: 'new visitor, mouse',
  returning: 'returning browser, mouse',
  keyboard: 'new visitor, keyboard and words',
}
/** What the check must reach: median milliseconds, and the share of time with nothing to do. */
const bars: Readonly<Record<GroupName, { readonly medianMs: number; readonly idleShare: number } | null>> = {
  new: { medianMs: 8_000, idleShare: 0.15 },
  returning: { medianMs: 4_000, idleShare: 0.15 },
  keyboard: null,
}

/** The answer of the service about a session. */
type ReadSession = {
  readonly verified: boolean | null
  readonly quality: number | null
  readonly counted: {
    readonly probes: number
    readonly hits: number
    readonly motionSeconds: number
    readonly returning?: boolean
  } | null
}

type Run = {
  readonly times: CheckTimes | undefined
  readonly session: ReadSession | undefined
  /** Why the player gave up, where it did. */
  readonly fault: string | undefined
}

/** A live agent that can mint: its address is confirmed, so its first thousand are free. */
const registerAgent = async (call: ReturnType<typeof callOver>, database: Client) => {
  const body = { name: 'Bench', contactEmail: 'bench@example.com', mode: 'live' }
  const { json } = await call('POST', '/api/agents/register', { body })
  const agent = json as { agentId: string; apiKey: string }
  await database.query('update agents set email_confirmed_at = pohf_now() where agent_id = $1', [
    agent.agentId,
  ])
  return agent
}

/** The time of the service is the time of its database. */
const moveClock = async (database: Client, ms: number): Promise<void> => {
  await database.query(
    `create or replace function pohf_now() returns timestamptz language sql stable parallel safe as $$ select transaction_timestamp() + interval '${ms} milliseconds' $$`,
  )
  await database.query('select pohf_maintain_partitions()')
}

const startService = () =>
  open(async (defer) => {
    const server = await startServer(settings)
    defer(server.stop)
    const database = new Client({ connectionString: server.databaseUrl })
    await database.connect()
    defer(() => database.end())
    const call = callOver(server.baseUrl)
    const { agentId, apiKey } = await registerAgent(call, database)
    const page = await servePage({ baseUrl: server.baseUrl, site: agentId })
    defer(() => page.close())
    let skewMs = 0
    return {
      pageUrl: page.url,
      /** Mints the credential of a session, as the site does. */
      mint: async (sessionId: string): Promise<void> => {
        const { status, text } = await call('POST', '/api/agents/verify', {
          key: apiKey,
          body: { sessionId },
        })
        if (status !== 200) throw new Error(`session ${sessionId} had passed and is not minted: ${text}`)
      },
      read: async (sessionId: string): Promise<ReadSession> => {
        const { status, json, text } = await call('GET', `/api/agents/sessions/${sessionId}`, { key: apiKey })
        if (status !== 200) throw new Error(`session ${sessionId} cannot be read: ${text}`)
        return json as ReadSession
      },
      nextDay: () => moveClock(database, (skewMs += dayMs)),
    }
  })
type Service = Awaited<ReturnType<typeof startService>>

/** How a played person reads a sentence and finds the key: 4 words a second, and 0.6 s more. */
const readingMs = (sentence: string): number => sentence.split(/\s+/).length * 250 + 600

const passBy: Readonly<Record<GroupName, (person: Person) => Promise<unknown>>> = {
  new: (person) => person.passCheck(),
  returning: (person) => person.passCheck(),
  keyboard: ({ page, key }) => passCheckByKeys(page, key, readingMs),
}

/** The verdict may come a moment after the player has seen the end. */
const readTimeline = async ({ page }: Person): Promise<Timeline> => {
  for (let attempt = 0; ; attempt += 1) {
    const timeline = await page.evaluate<Timeline>(readScript)
    if (timesOf(timeline) || attempt === 40) return timeline
    await sleep(50)
  }
}

/** One check by one browser. `profile` is what the browser keeps between visits. */
const play = async (service: Service, group: GroupName, profile: string, seed: number): Promise<Run> => {
  const signal = AbortSignal.timeout(runMsMax)
  const person = await playPerson({ url: service.pageUrl, profile, seed, signal })
  try {
    await person.page.evaluate(watchScript)
    const fault = await passBy[group](person).then(
      () => undefined,
      (error: unknown) => (error instanceof Error ? error.message : String(error)),
    )
    const timeline = await readTimeline(person)
    const { sessionId } = timeline
    const times = timesOf(timeline)
    if (sessionId === null || times?.verdict !== 'passed') return { times, session: undefined, fault }
    await service.mint(sessionId)
    return { times, session: await service.read(sessionId), fault }
  } finally {
    await person.close()
  }
}

type Results = Readonly<Record<GroupName, readonly Run[]>> & {
  /** At which visit the service recognises a browser that visits once a day. */
  readonly returningVisit: number
}

const isRecognised = ({ session }: Run): boolean => session?.counted?.returning === true

/**
 * A browser that was played as a new visitor comes back on the next day. Where the service does not recognise the one of the
 * warm-up then, all come back once more on the day after. The keyboard has browsers of its own.
 */
const playAll = async (service: Service, folder: string, runs: number): Promise<Results> => {
  const profileOf = (name: string, index: number) => join(folder, `${name}-${index}`)
  const playGroup = async (group: GroupName): Promise<Run[]> => {
    const played: Run[] = []
    for (let index = 0; index < runs; index += 1) {
      const profile = profileOf(group === 'keyboard' ? 'keyboard' : 'mouse', index)
      const run = await play(service, group, profile, 1 + index + 1_000 * groupNames.indexOf(group))
      played.push(run)
      const { verdict = 'no verdict', totalMs = 0, questionsMs = [] } = run.times ?? {}
      step(
        `${group} ${index + 1}: ${verdict}, ${Math.round(totalMs)} ms, ${questionsMs.length} questions ${run.fault ?? ''}`,
      )
    }
    await service.nextDay()
    return played
  }
  const warmUp = () => play(service, 'new', profileOf('warm-up', 0), 0)
  await warmUp()
  const newVisitors = await playGroup('new')
  let returningVisit = 2
  for (; returningVisit < visitsMax && !isRecognised(await warmUp()); returningVisit += 1)
    await playGroup('returning')
  const returning = await playGroup('returning')
  return { new: newVisitors, returning, keyboard: await playGroup('keyboard'), returningVisit }
}

const nearest = (values: readonly number[], share: number): number =>
  values.toSorted((a, b) => a - b)[Math.max(0, Math.ceil(share * values.length) - 1)] ?? NaN

/** Times are those of runs that passed at the first try. */
export const groupFigures = (runs: readonly Run[]) => {
  const passed = runs.flatMap(({ times }) => (times?.verdict === 'passed' ? [times] : []))
  const totals = passed.map(({ totalMs }) => totalMs)
  const questions = passed.map(({ questionsMs }) => questionsMs.length)
  const sessions = runs.flatMap(({ session }) => session ?? [])
  return {
    runs: runs.length,
    passed: passed.length,
    verified: sessions.filter(({ verified }) => verified === true).length,
    recognised: runs.filter(isRecognised).length,
    ms: {
      median: rounded(median(totals), 0),
      p90: rounded(nearest(totals, 0.9), 0),
      min: rounded(Math.min(...totals), 0),
      max: rounded(Math.max(...totals), 0),
    },
    idleShare: rounded(sum(passed.map(({ idleMs }) => idleMs)) / sum(totals), 3),
    /** Medians of its parts: before the first question, between them, and from the last answer to the verdict. */
    idleMs: {
      opening: rounded(median(passed.map(({ openingMs }) => openingMs)), 0),
      between: rounded(median(passed.map((one) => one.idleMs - one.openingMs - one.endingMs)), 0),
      ending: rounded(median(passed.map(({ endingMs }) => endingMs)), 0),
    },
    questions: { median: median(questions), max: Math.max(...questions) },
    questionMs: rounded(median(passed.flatMap(({ questionsMs }) => questionsMs)), 0),
    quality: median(sessions.flatMap(({ quality }) => quality ?? [])),
    motionSeconds: rounded(median(sessions.flatMap(({ counted }) => counted?.motionSeconds ?? [])), 1),
  }
}
type GroupFigures = ReturnType<typeof groupFigures>

/** A group without a pass has no times, and one that the service does not recognise is not the group that it is named after. */
const requirePlayed = (name: GroupName, figures: GroupFigures): GroupFigures => {
  if (figures.passed === 0) throw new Error(`group ${name}: none of ${figures.runs} runs passed`)
  if (name === 'returning' && figures.recognised === 0)
    throw new Error(`the service recognised none of ${figures.passed} returning browsers`)
  return figures
}

const seconds = (ms: number): string => `${(ms / 1_000).toFixed(1)} s`
const percent = (share: number): string => `${(100 * share).toFixed(1)} %`

const groupTable = (figures: Readonly<Record<GroupName, GroupFigures>>): Table =>
  tableOfRecords(
    groupNames.map((name) => {
      const group = figures[name]
      const { median: middle, p90, min, max } = group.ms
      return {
        'Played person': titles[name],
        'Checks passed': `${group.passed} of ${group.runs}`,
        Verified: group.verified,
        Median: seconds(middle),
        p90: seconds(p90),
        Min: seconds(min),
        Max: seconds(max),
        'Nothing to do': percent(group.idleShare),
        'Before, between, after questions': `${group.idleMs.opening}, ${group.idleMs.between}, ${group.idleMs.ending} ms`,
        Questions: `${group.questions.median}, at most ${group.questions.max}`,
        'Open for (median)': seconds(group.questionMs),
        'Quality (median)': group.quality,
        'Motion (median)': `${group.motionSeconds} s`,
      }
    }),
  )

const barRows = (figures: Readonly<Record<GroupName, GroupFigures>>) =>
  groupNames.flatMap((name) => {
    const bar = bars[name]
    if (bar === null) return []
    const { ms, idleShare } = figures[name]
    return [
      {
        bar: `${titles[name]}: median time to pass`,
        goal: `≤ ${seconds(bar.medianMs)}`,
        measured: seconds(ms.median),
        met: ms.median <= bar.medianMs,
      },
      {
        bar: `${titles[name]}: time with nothing to do`,
        goal: `≤ ${percent(bar.idleShare)}`,
        measured: percent(idleShare),
        met: idleShare <= bar.idleShare,
      },
    ]
  })

const runTable = (results: Results): Table =>
  tableOfRecords(
    groupNames.flatMap((name) =>
      results[name].map(({ times, session, fault }, index) => ({
        Group: name,
        Run: index + 1,
        Verdict: times?.verdict ?? fault ?? 'none',
        'Time, ms': times && rounded(times.totalMs, 0),
        'Nothing to do, ms': times && rounded(times.idleMs, 0),
        Questions: times?.questionsMs.length,
        Quality: session?.quality,
      })),
    ),
    'Every run:',
  )

/** The time to pass of a played person: new visitors, returning browsers, and the keyboard. */
export const check = programOf({
  command: 'bench -- check',
  title: 'Time to pass the check',
  about: `**The person is played.** An ordinary Chromium with a window on a virtual screen, moved and typed into by input events of the system. The eyes find the open ring in the pixels of the screen; reaction (median 0.22 s), hand (synthetic strokes of at most 0.9 s) and reading (4 words a second and 0.6 s) are models. People are slower or faster; no person was timed. "Open for" is how long the played person left a question open: the median of 33 people at a target game was 1.07 s.

Time runs in the page, from the click on the start button to the verdict in the widget. "Nothing to do" is the share of it in which no question was open; the medians of its three parts stand beside it. Each new visitor has a fresh profile; its credential is minted. The returning browser is the same profile on a later day, by the clock of the service, at the first visit at which the service recognises one. The keyboard group uses keys alone and the questions in words; it has no bar. Times are those of runs that passed at the first try. Browser, service and database run on the same machine. One run before the first is not counted.`,
  options: { runs: 30 },
  smoke: { runs: 1 },
  minutes: ({ runs }) => 15 + 6 * runs,
  missing: ({ runs }) =>
    Number.isInteger(runs) && runs >= 1 && runs <= runsMax
      ? undefined
      : `--runs takes a whole number from 1 to ${runsMax}`,
  run: ({ runs }) =>
    closingAfter(async (defer) => {
      const folder = makeFolder('check', defer)
      starting('the service')
      const service = await startService()
      defer(service.close)
      const results = await playAll(service, folder, runs)
      const figures = {
        new: requirePlayed('new', groupFigures(results.new)),
        returning: requirePlayed('returning', groupFigures(results.returning)),
        keyboard: requirePlayed('keyboard', groupFigures(results.keyboard)),
      }
      const rows = barRows(figures)
      return {
        figures: {
          newMedianS: rounded(figures.new.ms.median / 1_000, 3),
          returningMedianS: rounded(figures.returning.ms.median / 1_000, 3),
          idleShare: figures.new.idleShare,
          runs,
          ...figures,
          returningVisit: results.returningVisit,
          bars: rows,
        },
        tables: [tableOfRecords(rows), groupTable(figures), runTable(results)],
        holds: `each group passed; browsers are recognised at visit ${results.returningVisit}`,
      }
    }),
})
