// A year of believable data, from a seed: the service works with a clock that is set to the past and moves forward, so that
// credentials, credits, orders and payouts come about by the operations that make them.
import { enrolMember, invite } from '../../packages/server/test/fixtures/people/member.ts'
import { makeStrokes } from '../../packages/server/test/fixtures/people/play-session.ts'
import type { Harness } from '../../packages/server/test/fixtures/harness.ts'
import { seedCampaigns } from './campaigns.ts'
import { seedIndexHistory } from './index-history.ts'
import { makeRandom } from './random.ts'
import { dayMs, dayStartOf, hourMs, timeOfDay, visitsOfDay } from './rhythm.ts'
import {
  insertRequests,
  insertSessions,
  insertVisits,
  makeRequest,
  makeSession,
  type DemoSession,
} from './rows.ts'
import { buyCredits, call, makeDemo, moveTo, type Demo, type DemoSize, type PayCheckout } from './service.ts'
import { openWebhooks } from './webhooks.ts'
import { makeWorkSchedule, type DemoWork } from './work.ts'

const seed = 20_261_117
/** Days before the end of the seeding in which the clock stops every four hours, instead of once a day. */
const fineDays = 8
/** Pages plot at most these days. Before them the clock stops once a week, and only that day has credentials. */
const plottedDays = 91
const webhookDays = 4
/** The share of verified sessions that the shop asks a credential for. */
const mintedShare = 0.45
const creditsMin = 120

export const yearOfData: DemoSize = { days: 364, visitsPerDay: 22, members: 10, requestsPerDay: 420 }

/** Mints credentials for some of these sessions, as the shop does when a visitor checks out. */
const mint = async (demo: Demo, sessions: readonly DemoSession[]): Promise<void> => {
  const { harness, live, random } = demo
  const wanted = sessions.filter(({ verified }) => verified && random.isTrue(mintedShare))
  const { json } = await harness.call('GET', '/api/agents/credits/balance', { key: live.apiKey })
  if (json.balance < creditsMin) await buyCredits(demo)
  await Promise.all(
    wanted.map(({ id }) =>
      call(demo, 'POST', '/api/agents/verify', { key: live.apiKey, body: { sessionId: id } }),
    ),
  )
}

type Day = { readonly dayStart: number; readonly age: number; readonly until: number }

const makeSessions = ({ random, size }: Demo, { dayStart, age, until }: Day): DemoSession[] => {
  const count = visitsOfDay(random, { dayStart, age, perDay: size.visitsPerDay })
  return Array.from({ length: count }, () => timeOfDay(random, dayStart))
    .filter((at) => at < until - 60_000)
    .toSorted((a, b) => a - b)
    .map((at) => makeSession(random, at))
}

/** Seeds the visits of days, oldest first, in slots: the clock stops at the end of each. */
const makeDays = (demo: Demo, atSlotEnd: () => Promise<void>) => {
  const { random, live, harness } = demo
  let unwritten: DemoSession[] = []
  return async (day: Day): Promise<void> => {
    const { dayStart, age, until } = day
    const ofDay = makeSessions(demo, day)
    unwritten = [...unwritten, ...ofDay]
    if (age > plottedDays && age % 7 !== 0) return
    const slotMs = age < fineDays ? 4 * hourMs : dayMs
    for (let from = dayStart; from < Math.min(until, dayStart + dayMs); from += slotMs) {
      const end = Math.min(from + slotMs - 60_000, until)
      await moveTo(demo, end)
      // No session lasts for a minute, so that all of these have ended.
      const isPast = ({ at }: DemoSession) => Date.parse(at) < end - 60_000
      const sessions = unwritten.filter(isPast)
      if (sessions.length === 0) continue
      unwritten = unwritten.filter((session) => !isPast(session))
      await insertSessions(harness, live, sessions)
      await insertVisits(harness, live, sessions, random)
      // A credential is issued within a day after its session.
      await mint(
        demo,
        sessions.filter(({ at }) => Date.parse(at) >= dayStart),
      )
      await atSlotEnd()
    }
  }
}

type Member = Awaited<ReturnType<typeof enrolMember>>
/** People who enrolled at the shop, and some who were invited only. */
const seedMember = async (demo: Demo, n: number): Promise<Member | undefined> => {
  const externalRef = `customer-${1_000 + n}`
  if (n % 5 !== 2) return enrolMember(demo.harness, demo.live, { externalRef, strokes: makeStrokes(n + 1) })
  await invite(demo.harness, demo.live.apiKey, externalRef)
  return undefined
}

/** A test agent is used while the shop is built: simulated sessions, of people and of bots. */
const seedTestMode = async (demo: Demo): Promise<void> => {
  const { test, random } = demo
  for (let n = 0; n < 24; n++) {
    const profile = random.isTrue(0.7) ? 'human' : 'bot'
    const { sessionId } = await call(demo, 'POST', '/api/test/sessions', {
      key: test.apiKey,
      body: { profile },
    })
    if (profile === 'human')
      await call(demo, 'POST', '/api/agents/verify', { key: test.apiKey, body: { sessionId } })
  }
}

const seedRequests = async (demo: Demo, now: number): Promise<void> => {
  const { harness, live, random, size } = demo
  const { rows } = await harness.owner.query<{ key_id: string }>(
    'select key_id from api_keys where agent_id = $1 limit 1',
    [live.agentId],
  )
  const keyId = rows[0]?.key_id ?? ''
  for (let age = 7; age >= 0; age--) {
    const dayStart = dayStartOf(now) - age * dayMs
    const count = visitsOfDay(random, { dayStart, age, perDay: size.requestsPerDay })
    const requests = Array.from({ length: count }, () => timeOfDay(random, dayStart))
      .filter((at) => at < now - 60_000 && at > now - 7 * dayMs)
      .map((at) => makeRequest(random, at, keyId))
    await insertRequests(harness, live.agentId, requests)
  }
}

/** Problems that the service itself finds in its ledger, credits and audit log. */
const findFaults = async (demo: Demo): Promise<string[]> => {
  const key = demo.operatorKeys[0]
  const read = (path: string) => call(demo, 'GET', `/operator/${path}`, { key })
  const ledger = await read('ledger/check?whole=1')
  const credits = await read('credits/check')
  const audit = await read('audit?limit=1000')
  return [
    ...(ledger.ok ? [] : [`ledger: ${JSON.stringify(ledger.drift)}`]),
    ...(credits.ok ? [] : [`credits: ${JSON.stringify(credits)}`]),
    ...(audit.intact ? [] : ['the hash chain of the audit log is broken']),
  ]
}

export type DemoData = Pick<Demo, 'live' | 'test' | 'ownerEmail' | 'operatorKeys'> & {
  readonly enrolUrl: string
  readonly workerCookie: string
  /** A member whose recording can be replayed. */
  readonly memberCookie: string
  readonly recordingId: string
  readonly results: DemoWork['results']
  readonly faults: readonly string[]
}

/**
 * Seeds a new database. The clock of the harness is `size.days` behind the machine's at the start; at the end it is the
 * machine's.
 */
export const seedDemo = async (harness: Harness, size: DemoSize, pay: PayCheckout): Promise<DemoData> => {
  const demo = await makeDemo(harness, makeRandom(seed), { size, pay })
  // Limits protect a service from its callers, and here a year passes in a minute.
  await harness.owner.query('update agents set rate_per_minute = 1000000')
  await buyCredits(demo)
  const now = Date.now()
  await seedIndexHistory(demo, now)
  const memberEvery = Math.max(1, Math.floor((size.days - 3) / size.members))
  let member: Member | undefined
  const work = makeWorkSchedule(demo)
  let webhooks: Awaited<ReturnType<typeof openWebhooks>> | undefined
  const seedDay = makeDays(demo, async () => webhooks?.deliver())
  try {
    for (let age = size.days - 1; age >= 0; age--) {
      const day = { dayStart: dayStartOf(now) - age * dayMs, age, until: now }
      const past = size.days - 1 - age
      const [step, isMemberDay] = [work.steps.get(age), past % memberEvery === 0]
      if (step || isMemberDay) await moveTo(demo, Math.min(day.dayStart + 9 * hourMs, now))
      if (isMemberDay) member = (await seedMember(demo, past / memberEvery)) ?? member
      await step?.()
      if (age === webhookDays) webhooks = await openWebhooks(demo)
      await seedDay(day)
      if (age % 30 === 0) await harness.runJobs()
    }
    await seedTestMode(demo)
    await seedCampaigns(demo)
    await seedRequests(demo, now)
  } finally {
    await webhooks?.stop()
  }
  const { enrolUrl } = await call(demo, 'POST', '/api/agents/members', { key: demo.live.apiKey, body: {} })
  await moveTo(demo, Date.now())
  await harness.runJobs()
  if (!member) throw new Error('the demo has no member: too few days')
  await member.browser.signIn(member.passkey)
  await harness.owner.query('update agents set rate_per_minute = default')
  // As long as the data is kept, and longer.
  await harness.owner.query("update person_logins set expires_at = pohf_now() + interval '30 days'")
  return {
    live: demo.live,
    test: demo.test,
    ownerEmail: demo.ownerEmail,
    operatorKeys: demo.operatorKeys,
    enrolUrl,
    workerCookie: work.read().worker.cookie,
    memberCookie: member.browser.cookie() ?? '',
    recordingId: member.sessionId,
    results: work.read().results,
    faults: await findFaults(demo),
  }
}
