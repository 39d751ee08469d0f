import assert from 'node:assert/strict'
import { test } from 'node:test'
import { scopes } from '@pohf/protocol'
import { qualityOf } from '@pohf/scorer'
import { accountOriginOf } from '../../src/agent/sign-in/account-origin.ts'
import { sendKnownBad } from '../../src/agent/approvals/send-known-bad.ts'
import { levelOf, medianFrom } from '../../src/agent/attention/findings.ts'
import { axisMarks, isAlone, isHourly, lineOf } from '../../src/agent/attention/quality-points.ts'
import { siteOf, windowParameters } from '../../src/agent/attention/window.ts'
import { revocationRequest } from '../../src/agent/credentials/messages.ts'
import { formatValue, stepsOf, valuesText } from '../../src/agent/funnel/steps.ts'
import { checklistOf, type HomeData } from '../../src/agent/home/checklist.ts'
import { scopesText } from '../../src/agent/keys/messages.ts'
import { listParameters } from '../../src/shared/lists/filter.ts'
import { sessionText } from '../../src/agent/sessions/messages.ts'
import { waterfallOf } from '../../src/agent/sessions/waterfall.ts'
import { refusalsByReason, runwayText } from '../../src/agent/usage/messages.ts'
import type { CredentialDetails, Usage } from '../../src/agent/wire.ts'
import { ApiCallError } from '../../src/shared/api/client.ts'
import { createKeysOfCalls } from '../../src/shared/api/keys-of-calls.ts'
import { formatMilliseconds } from '../../src/shared/design/duration.ts'
import { formatShare, ticksUpTo } from '../../src/shared/plots/scale.ts'

const now = Date.parse('2026-11-15T12:00:00Z')

test('the waterfall ends at the quality of the formula, and says so where other rules scored', () => {
  const unmeasured = { focus: null, probe: null, input: null, gaze: null, device: null, history: null }
  const cases = [
    [{ ...unmeasured, focus: 0.9, probe: 0.75, input: 0.6 }, []],
    [{ ...unmeasured, focus: 0, probe: 0.75, device: 0.3, history: 0.5 }, []],
    [{ ...unmeasured, focus: 0.9, probe: 0.75, gaze: 1 }, []],
    [{ ...unmeasured, focus: 0.9, probe: 0.75, gaze: 0.1 }, []],
    [{ ...unmeasured, focus: 1, probe: 0.8 }, ['automation_env', 'datacenter_ip']],
  ] as const
  for (const [components, flags] of cases) {
    const quality = qualityOf(components, flags)
    const steps = waterfallOf(components, flags, quality)
    assert.ok(steps)
    assert.equal(steps[0]?.from, 1)
    assert.ok(Math.abs((steps.at(-1)?.to ?? -1) - quality) < 0.001, JSON.stringify(steps))
    for (const [index, step] of steps.entries())
      if (index > 0) assert.equal(step.from, steps[index - 1]?.to, 'each step begins where the last ended')
    assert.equal(waterfallOf(components, flags, quality + 0.1), undefined)
  }
})

test('the way to the first live credential: each step is done by what was seen', () => {
  const data: HomeData = {
    profile: {
      agentId: 'agt_1',
      name: 'Shop',
      mode: 'test',
      contactEmail: 'a@example.com',
      emailConfirmedAt: null,
      allowedOrigins: [],
      attestation: {
        webauthn: { origins: [], rpIds: [] },
        playIntegrity: { packages: [] },
        appAttest: { appIds: [], allowTestFlight: false },
      },
      policy: {},
      createdAt: '2026-11-01T00:00:00Z',
      demo: false,
    },
    keys: [],
    credentials: [],
    sessions: [],
    webhooks: [],
  }
  const doneIn = (mode: 'test' | 'live', change: Partial<HomeData>) =>
    checklistOf({ ...data, ...change }, { mode, origin: 'https://pohf.example', hasAccount: false, now })
      .filter(({ isDone }) => isDone)
      .map(({ id }) => id)
  assert.deepEqual(doneIn('test', {}), [])
  assert.deepEqual(
    doneIn('test', { profile: { ...data.profile, policy: { view: { minAssurance: 'low' } } } }),
    ['floor'],
  )
  const key = { hint: '1234', revokedAt: null, expiresAt: null } as HomeData['keys'][number]
  const past = '2026-11-15T11:00:00Z'
  assert.deepEqual(doneIn('test', { keys: [key] }), ['key'])
  const deadKeys = [
    { ...key, revokedAt: past },
    { ...key, expiresAt: past },
  ]
  assert.deepEqual(doneIn('test', { keys: deadKeys }), [])
  const quiet = { url: 'https://shop.example/hook', health: [] as unknown } as HomeData['webhooks'][number]
  assert.deepEqual(doneIn('test', { webhooks: [quiet] }), ['webhook'])
  const credential = { credentialId: 'crd_1' } as HomeData['credentials'][number]
  assert.deepEqual(doneIn('test', { credentials: [credential] }), ['verify'])
  assert.deepEqual(doneIn('live', { credentials: [credential] }), ['verify', 'live'])
  const session = { hostname: 'shop.example' } as HomeData['sessions'][number]
  assert.deepEqual(doneIn('test', { sessions: [session] }), ['page'])
  assert.deepEqual(doneIn('test', { sessions: [{ ...session, hostname: null }] }), [])
})

test('an account is opened at the address of the service, by name also on this machine', () => {
  assert.equal(accountOriginOf('https://pohf.example/'), 'https://pohf.example')
  assert.equal(accountOriginOf('http://127.0.0.1:3000'), 'http://localhost:3000')
})

test('credits, durations, shares and periods in words', () => {
  const runway = { available: 190, spentPerDay: 10, daysLeft: 19 }
  assert.equal(runwayText(runway, now), '19 days at this pace, until 4 Dec')
  assert.equal(
    runwayText({ ...runway, spentPerDay: 0, daysLeft: null }, now),
    'Nothing was spent in the last 7 days',
  )
  assert.equal(formatMilliseconds(640), '640 ms')
  assert.equal(formatMilliseconds(12_430), '12.4 s')
  assert.equal(formatMilliseconds(185_000), '3 min 5 s')
  assert.equal(formatShare(0.061), '6.1%')
  assert.deepEqual([0, 0.0001, 0.9999, 1].map(formatShare), ['0%', '<0.1%', '>99.9%', '100%'])
  assert.deepEqual(ticksUpTo(1_150, 3), [500, 1_000])
  assert.deepEqual(ticksUpTo(2, 3), [1, 2])
  assert.deepEqual(ticksUpTo(0, 3), [])
  const parameters = (last: string | undefined) =>
    listParameters({ limit: '50', cursor: undefined, since: { last } }, now).toString()
  assert.equal(parameters('24h'), 'limit=50&since=2026-11-14T12%3A00%3A00.000Z')
  assert.equal(parameters(undefined), 'limit=50')
  assert.equal(parameters('ever'), 'limit=50')
  const row = { at: '', started: 0, ended: 0, verified: 0, refused: 0, spent: 0 }
  const usage = {
    series: [
      { ...row, refusedBy: { a: 1, b: 2 } },
      { ...row, refusedBy: { b: 3 } },
    ],
  } as unknown as Usage
  assert.deepEqual(refusalsByReason(usage), [
    ['b', 5],
    ['a', 1],
  ])
  assert.match(sessionText({ status: 'scored', verified: true, credentialId: null }), /Nobody asked/)
})

test('a key is said to have all scopes only where it has each', () => {
  assert.equal(scopesText(scopes), 'all')
  assert.equal(scopesText(scopes.slice(1)), scopes.slice(1).join(', '))
})

test('a reason that an agent wrote is one argument of the command for the operator', () => {
  const details = { credentialId: 'crd_1', kind: 'work', issuedAt: '', sessionId: null } as CredentialDetails
  assert.match(
    revocationRequest(details, ` it's "$(id)" \`id\` `),
    /^npx pohf credentials revoke crd_1 --reason 'it'\\''s "\$\(id\)" `id`'$/m,
  )
})

test('known-bad requests that were sent are repeated under their keys until all were', async () => {
  const keys = createKeysOfCalls()
  const request = { type: 'invoice.pay', quorum: 1, action: {}, approvers: ['a', 'b', 'c'], reason: 'no' }
  const send = async (failing: string | undefined, failure: Error = new Error('timeout')) => {
    const sent = new Map<string, string | undefined>()
    const call = async (_method: string, _path: string, body?: unknown, key?: string) => {
      const [approver = ''] = (body as typeof request).approvers
      sent.set(approver, key)
      if (approver === failing) throw failure
      return undefined as never
    }
    await sendKnownBad({ call }, keys, request).catch(() => undefined)
    return sent
  }
  const first = await send('c')
  const second = await send(undefined)
  assert.deepEqual([...second], [...first])
  assert.equal(new Set(second.values()).size, 3)
  const third = await send(
    'c',
    new ApiCallError({ code: 'approval_refused', message: '', details: [], requestId: '' }, 403),
  )
  assert.notEqual(third.get('a'), first.get('a'), 'once all were sent, the same is meant once more')
  const fourth = await send(undefined)
  assert.equal(fourth.get('a'), third.get('a'))
  assert.notEqual(fourth.get('c'), third.get('c'), 'the service would repeat its refusal')
})

test('a site is the host of what somebody types or pastes', () => {
  for (const text of [
    'shop.example',
    ' Shop.Example ',
    'https://shop.example/offer?a=1',
    'shop.example:8443/a',
  ])
    assert.equal(siteOf(text), 'shop.example', text)
  assert.equal(siteOf('  '), undefined)
  assert.equal(siteOf('no host'), 'no host')
})

const indexesOf = (points: number) => axisMarks(points).map(({ index }) => index)
test('a time axis has at most five labels, from the first point to the last', () => {
  assert.deepEqual(indexesOf(31), [0, 8, 15, 23, 30])
  assert.deepEqual(indexesOf(2), [0, 1])
  assert.deepEqual(indexesOf(1), [0])
  assert.deepEqual(indexesOf(0), [])
  assert.equal(axisMarks(31).filter(({ isExtra }) => !isExtra).length, 3, 'a phone has room for three')
})

const point = (hour: number, quality: number | null) => ({
  at: `2026-11-15T0${hour}:00:00.000Z`,
  quality,
  views: 1,
  verified: 1,
  rejected: 0,
})
test('the line over time breaks where nothing was scored, and leaves single points to dots', () => {
  const series = [point(0, 0.5), point(1, 0.7), point(2, null), point(3, 0.6), point(4, null)]
  const line = lineOf(
    series,
    (index) => index,
    (value) => value,
  )
  assert.equal(line, 'M0.0 0.5L1.0 0.7')
  assert.deepEqual(
    series.map((_, index) => isAlone(series, index)),
    [false, false, false, true, false],
  )
  assert.equal(isHourly(series), true)
  assert.equal(isHourly([point(0, 1), { ...point(0, 1), at: '2026-11-16T00:00:00.000Z' }]), false)
})

test('sums in many currencies are named up to three, and the rest is counted', () => {
  assert.equal(
    valuesText([
      ['EUR', 1],
      ['CHF', 2],
    ]).replaceAll('\u00a0', ' '),
    'EUR 1.00 and CHF 2.00',
  )
  assert.match(
    valuesText([
      ['EUR', 1],
      ['CHF', 2],
      ['USD', 3],
      ['JPY', 4],
      ['GBP', 5],
    ]),
    /^EUR.1\.00, CHF.2\.00, USD.3\.00 and sums in 2 other currencies$/,
  )
})

const readWindow = (query: string) =>
  Object.fromEntries(windowParameters(new URLSearchParams(query), now + 12_345))
test('a period of the address becomes times of a call, to the minute', () => {
  assert.deepEqual(readWindow(''), { since: '2026-10-16T12:00:00.000Z' })
  assert.deepEqual(readWindow('period=24h&site=shop.example&workflow=&other=1'), {
    since: '2026-11-14T12:00:00.000Z',
    site: 'shop.example',
  })
  assert.deepEqual(readWindow('period=1h'), { since: '2026-11-15T11:00:00.000Z' })
  assert.deepEqual(readWindow('period=before&workflow=checkout'), {
    since: '2026-09-16T12:00:00.000Z',
    until: '2026-10-16T12:00:00.000Z',
    workflow: 'checkout',
  })
  assert.deepEqual(readWindow('period=nonsense'), readWindow(''))
})

const buckets = (...views: number[]) =>
  views.map((count, n) => ({ from: n / 4, to: (n + 1) / 4, views: count }))
test('the middle view is found in the buckets, and an hour has a level by its verified views', () => {
  assert.equal(medianFrom(buckets(0, 0, 0, 0)), undefined)
  assert.equal(medianFrom(buckets(1, 0, 0, 1)), 0.75)
  assert.equal(medianFrom(buckets(3, 0, 1, 1)), 0)
  assert.equal(levelOf({ views: 0, verified: 0 }, 10), undefined)
  assert.equal(levelOf({ views: 10, verified: 4 }, 10), 0)
  assert.deepEqual(
    [1, 5, 8, 10].map((verified) => levelOf({ views: verified, verified }, 10)),
    [1, 2, 4, 4],
  )
})

const step = (name: 'views' | 'landed' | 'engaged' | 'converted', views: number) => ({
  step: name,
  views,
  rate: views / 100,
})
test('a step of the funnel says what was lost since the one before, and a larger one nothing', () => {
  const steps = stepsOf({
    steps: [step('views', 100), step('landed', 60), step('engaged', 15), step('converted', 20)],
  })
  assert.deepEqual(
    steps.map(({ lost }) => lost && [lost.count, lost.share]),
    [undefined, [40, 0.4], [45, 0.75], undefined],
  )
  assert.match(formatValue('EUR', 19.9), /^EUR\s19\.90$/)
  assert.equal(formatValue('XXX', 3), '3 (no currency)')
})
