import assert from 'node:assert/strict'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Page } from 'playwright-core'
import { pollUntil } from '../../server/test/fixtures/polling.ts'
import { listen } from './fixture.ts'
import { runVisits, visit, type VisitContext } from './visits.ts'

const tall = `<a id="next" href="/next">Next</a>${'<p>One line of a long page.</p>'.repeat(200)}`
const privacyControl =
  'Object.defineProperty(Navigator.prototype, "globalPrivacyControl", { get: () => true })'

/** The token of a verified view of the agent. */
const makeToken = async ({ fixture, apiKey }: VisitContext): Promise<string> => {
  const { json } = await fixture.harness.call('POST', '/api/agents/verify', {
    key: apiKey,
    body: { sessionId: 'view-1' },
  })
  return json.vt as string
}

type SentBeacon = {
  readonly vt: string
  readonly type: string
  readonly eventId: string
  readonly path: string
  readonly props?: Readonly<Record<string, unknown>>
}
/** What arrived at the service from this site, in order; a beacon that was sent again is there again. */
const sentBeacons = ({ fixture, site }: VisitContext): SentBeacon[] =>
  fixture.network.requests
    .filter(({ path, origin }) => path === 'POST /api/track/event' && origin === site.url)
    .flatMap(({ body }) => JSON.parse(body) as SentBeacon[])
const hasArrived = (visited: VisitContext, type: string, path?: string): Promise<unknown> =>
  pollUntil(`${type} arrives`, async () =>
    sentBeacons(visited).some(
      (beacon) => beacon.type === type && (path === undefined || beacon.path === path),
    ),
  )
const readFunnel = async ({ fixture, apiKey }: VisitContext) =>
  (await fixture.harness.call('GET', '/api/agents/metrics/funnel', { key: apiKey })).json
/** The stored beacons of the agent. */
const storedTypes = async ({ fixture, agentId }: VisitContext): Promise<string[]> =>
  (
    await fixture.harness.owner.query<{ type: string }>(
      'select type from track_events where agent_id = $1 order by type',
      [agentId],
    )
  ).rows.map(({ type }) => type)

/** Asked from outside: a page with a policy against eval cannot wait for an expression itself. */
const scriptHasRun = (page: Page): Promise<unknown> =>
  pollUntil('the script has run', () => page.evaluate<boolean>("typeof globalThis.pohf === 'object'"))

const land = async (visited: VisitContext, address: string): Promise<string> => {
  const vt = await makeToken(visited)
  await visited.page.goto(`${visited.site.url}${address.replace('TOKEN', vt)}`)
  await scriptHasRun(visited.page)
  return vt
}
const shownAddress = (page: Page) =>
  page.evaluate<string>('location.pathname + location.search + location.hash')

visit(
  'a visit reports landing, engagement, depth and time, and takes the token out of the address',
  { script: 'visit', page: tall },
  async (visited) => {
    const { page, context } = visited
    await sleep(300)
    assert.deepEqual(sentBeacons(visited), [], 'without a token nothing is sent')
    const vt = await land(visited, '/shoes?a=%20b&pohf_vt=TOKEN&c#top')
    assert.equal(await shownAddress(page), '/shoes?a=%20b&c#top')
    assert.equal(await page.evaluate('pohf.viewToken()'), vt)
    await hasArrived(visited, 'landed')
    assert.equal((await readFunnel(visited)).engaged, 0)

    await page.mouse.click(200, 200)
    await page.evaluate('scrollTo(0, document.documentElement.scrollHeight / 2)')
    await hasArrived(visited, 'scroll')
    await page.evaluate('scrollTo(0, document.documentElement.scrollHeight)')
    assert.equal(await page.evaluate("pohf.track('sign-up', { plan: 'pro', seats: 3 })"), true)
    await sleep(1_100)
    await page.goto('about:blank')
    await hasArrived(visited, 'dwell')

    const seen = sentBeacons(visited)
    const first = new Map(seen.map((beacon) => [beacon.eventId, beacon]))
    const depths = [...first.values()]
      .filter(({ type }) => type === 'scroll')
      .map(({ props }) => props?.['depth'])
    assert.deepEqual(depths, [25, 50, 75, 100])
    assert.deepEqual([...first.values()].find(({ type }) => type === 'sign-up')?.props, {
      plan: 'pro',
      seats: 3,
    })
    assert.ok(seen.every((beacon) => beacon.path === '/shoes' && beacon.vt === vt))
    await pollUntil(
      'everything is stored once',
      async () => (await storedTypes(visited)).length === first.size,
    )
    assert.deepEqual(await storedTypes(visited), [
      'dwell',
      'engaged',
      'landed',
      ...Array.from({ length: 4 }, () => 'scroll'),
      'sign-up',
    ])
    const { views, landed, engaged } = await readFunnel(visited)
    assert.deepEqual([views, landed, engaged], [1, 1, 1])
    assert.deepEqual(await context.cookies(), [])
    assert.deepEqual((await context.storageState()).origins, [])
  },
)

for (const [name, options] of [
  ['Global Privacy Control', { before: privacyControl }],
  ['data-consent="required"', { scriptAttributes: 'data-consent="required"' }],
] as const)
  visit(
    `with ${name} nothing is sent before the person agrees`,
    { script: 'visit', ...options },
    async (visited) => {
      const { page } = visited
      await land(visited, '/?pohf_vt=TOKEN')
      assert.equal(await shownAddress(page), '/', 'the token leaves the address at once')
      await page.mouse.click(50, 50)
      assert.equal(await page.evaluate("pohf.track('early')"), false)
      await sleep(1_500)
      assert.deepEqual(sentBeacons(visited), [])
      await page.evaluate('pohf.consent(true)')
      await hasArrived(visited, 'landed')
      await page.evaluate("pohf.track('late'); pohf.consent(false)")
      assert.equal(await page.evaluate("pohf.track('later')"), false)
      await page.goto('about:blank')
      await sleep(500)
      assert.deepEqual([...new Set(sentBeacons(visited).map(({ type }) => type))], ['landed'])
    },
  )

visit(
  'in a single-page application every path lands once, without its query',
  { script: 'visit', page: tall },
  async (visited) => {
    const { page } = visited
    await land(visited, '/app#pohf_vt=TOKEN')
    assert.equal(await shownAddress(page), '/app')
    await hasArrived(visited, 'landed', '/app')
    await page.evaluate("history.pushState({ kept: 1 }, '', '/app/cart?secret=1#part')")
    await hasArrived(visited, 'landed', '/app/cart')
    await page.mouse.click(50, 300)
    await page.evaluate('history.back()')
    await pollUntil('the page is back', () => page.evaluate<boolean>("location.pathname === '/app'"))
    await page.evaluate("pohf.track('back')")
    await page.goto('about:blank')
    await hasArrived(visited, 'back', '/app')
    const landed = sentBeacons(visited).filter(({ type }) => type === 'landed')
    assert.deepEqual([...new Set(landed.map(({ path }) => path))], ['/app', '/app/cart'])
    assert.ok(!JSON.stringify(sentBeacons(visited)).includes('secret'))
    const engaged = sentBeacons(visited).filter(({ type }) => type === 'engaged')
    assert.deepEqual([...new Set(engaged.map(({ path }) => path))], ['/app/cart'])
  },
)

for (const [name, before] of [
  ['sendBeacon', ''],
  ['fetch, where there is no sendBeacon', 'delete Navigator.prototype.sendBeacon'],
] as const)
  visit(
    `what happens in the last moment of a page arrives, by ${name}`,
    { script: 'visit', before },
    async (visited) => {
      const { page } = visited
      await land(visited, '/?pohf_vt=TOKEN')
      await hasArrived(visited, 'landed')
      // In the same task as the navigation: no timer of the page runs after it.
      await page.evaluate(`pohf.track('last-moment'); location.href = 'about:blank'`)
      await pollUntil('it is stored', async () => (await storedTypes(visited)).includes('last-moment'))
    },
  )

visit(
  'a lost connection or a lost answer loses nothing and counts nothing twice',
  { script: 'visit' },
  async (visited) => {
    const { page, fixture, site } = visited
    fixture.network.mute.add(site.url)
    await land(visited, '/?pohf_vt=TOKEN')
    const landings = () => sentBeacons(visited).filter(({ type }) => type === 'landed')
    await pollUntil('it is sent again', async () => landings().length >= 2)
    fixture.network.mute.delete(site.url)
    fixture.network.cut.add(site.url)
    await page.evaluate("pohf.track('offline')")
    await hasArrived(visited, 'offline')
    fixture.network.cut.delete(site.url)
    await pollUntil('it is stored', async () => (await storedTypes(visited)).includes('offline'))
    assert.equal(new Set(landings().map(({ eventId }) => eventId)).size, 1)
    const stored = await storedTypes(visited)
    // A slow machine may have had the page in view for 10 seconds.
    assert.deepEqual(
      stored.filter((type) => type !== 'engaged'),
      ['landed', 'offline'],
    )
  },
)

visit('a flood of events stays within the limits of a view', { script: 'visit' }, async (visited) => {
  const { page } = visited
  await land(visited, '/?pohf_vt=TOKEN')
  const taken = await page.evaluate<number>(
    "Array.from({ length: 500 }, (_, n) => pohf.track('flood-' + n)).filter(Boolean).length",
  )
  assert.ok(taken > 0 && taken <= 30, `${taken} events`)
  assert.equal(await page.evaluate("pohf.track('large', { text: 'x'.repeat(5000) })"), false)
})

visit('no third party learns the token as a referrer', { script: 'visit' }, async (visited) => {
  const { page, fixture } = visited
  const vt = await makeToken(visited)
  const referrers: string[] = []
  const third = await listen(({ headers }, response) => {
    referrers.push(headers.referer ?? '')
    response.writeHead(200, { 'content-type': 'image/png' }).end()
  })
  // No content policy of its own: it loads from everywhere.
  const shop = await listen((_, response) =>
    response
      .writeHead(200, { 'content-type': 'text/html' })
      .end(
        `<!doctype html><html lang="en"><head><title>A shop</title><img src="${third.url}/early.png"><script async src="${fixture.service.url}/visit.js"></script></head><body></body></html>`,
      ),
  )
  try {
    await page.goto(`${shop.url}/shop?pohf_vt=${vt}`)
    await scriptHasRun(page)
    await page.evaluate<void>(
      `Object.assign(new Image(), { referrerPolicy: 'unsafe-url', src: '${third.url}/late.png' })`,
    )
    await pollUntil('both images are asked for', async () => referrers.length >= 2)
    assert.ok(referrers.includes(`${shop.url}/shop`), 'the late request names the whole address')
    assert.ok(
      referrers.every((referrer) => !referrer.includes('vt_')),
      referrers.join(),
    )
  } finally {
    third.close()
    shop.close()
  }
})

runVisits()
