import assert from 'node:assert/strict'
import { test } from 'node:test'
import { qualityOf } from '@pohf/scorer'
import { accountOriginOf } from '../../src/agent/sign-in/account-origin.ts'
import { checklistOf, type HomeData } from '../../src/agent/home/checklist.ts'
import { periodStart } from '../../src/shared/lists/filter.ts'
import { sessionText } from '../../src/agent/sessions/messages.ts'
import { waterfallOf } from '../../src/agent/sessions/waterfall.ts'
import { refusalsByReason, runwayText } from '../../src/agent/usage/messages.ts'
import type { Usage } from '../../src/agent/wire.ts'
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
    checklistOf({ ...data, ...change }, { mode, origin: 'https://pohf.example', hasAccount: false })
      .filter(({ isDone }) => isDone)
      .map(({ id }) => id)
  assert.deepEqual(doneIn('test', {}), [])
  assert.deepEqual(
    doneIn('test', { profile: { ...data.profile, policy: { view: { minAssurance: 'low' } } } }),
    ['floor'],
  )
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
  assert.deepEqual(ticksUpTo(1_150, 3), [500, 1_000])
  assert.deepEqual(ticksUpTo(2, 3), [1, 2])
  assert.deepEqual(ticksUpTo(0, 3), [])
  assert.equal(periodStart('24h', now + 1_234), '2026-11-14T12:00:00.000Z')
  assert.equal(periodStart(null, now), undefined)
  assert.equal(periodStart('ever', now), undefined)
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
