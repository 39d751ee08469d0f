// A question that comes over the page of a unit is answered where it is pointed at, whatever the screen. The test knows
// the right place from the server's own state, presses just within it and just beside it, and reads what was counted.
import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Page } from 'playwright-core'
import { expectedAnswerOf } from '../../server/src/sessions/recording/probes.ts'
import type { RecordingState } from '../../server/src/sessions/recording/state.ts'
import { pollUntil } from '../../server/test/fixtures/polling.ts'
import { makeWorker } from '../../server/test/fixtures/people/worker.ts'
import { findChromium, launch } from './browser.ts'
import { isEveryView } from './views.ts'
import { openContext, servePictures, type View } from './worker-browser.ts'
import { startWorkerFixture } from './worker-fixture.ts'

const chromium = findChromium()
const skip = 'missing' in chromium ? chromium.missing : false
const fixture = skip === false ? await startWorkerFixture() : undefined
const browser = 'path' in chromium ? await launch(chromium.path, { hasScrollBars: true }) : undefined
after(() => browser?.close())

type WorkerFixture = NonNullable<typeof fixture>
type Pointer = 'mouse' | 'touch'
type Box = { readonly x: number; readonly y: number; readonly width: number; readonly height: number }

/** Pixels of the picture beside the edge of what counts: a pointer has whole pixels, and the picture is scaled. */
const missByPx = 3
/** Somebody who looks, and then presses. */
const quickMs = 600
/** Somebody who is slow, and still in time: the window is 2,500 ms, and a busy machine is slow to press. */
const slowMs = 1_800
/** How many of these run at once: most of their time is waiting. */
const concurrencyMax = 3

const scheduleOf = async ({ harness }: WorkerFixture, sessionId: string) => {
  const { rows } = await harness.owner.query<{ state: RecordingState }>(
    'select state from session_recorders where session_id = $1',
    [sessionId],
  )
  assert.ok(rows[0])
  return rows[0].state.schedule
}

/** Where the picture is once its time runs. */
const pictureOf = (page: Page): Promise<Box | null> =>
  page.evaluate<Box | null>(`(() => {
    const dialog = document.querySelector('pohf-questions')?.shadowRoot.querySelector('dialog')
    const canvas = dialog?.querySelector('.bar.runs') ? dialog.querySelector('canvas') : null
    const { x, y, width, height } = canvas?.getBoundingClientRect() ?? {}
    return canvas && { x, y, width, height }
  })()`)

const pressAt = async (page: Page, by: Pointer, x: number, y: number): Promise<void> => {
  if (by === 'touch') return page.touchscreen.tap(x, y)
  await page.mouse.move(x, y, { steps: 3 })
  await page.mouse.down()
  await page.mouse.up()
}

/** Waits for a question and presses so far from the middle of the open ring. Gives what the server counted then. */
const answer = async (
  given: {
    readonly name: string
    readonly page: Page
    readonly fixture: WorkerFixture
    readonly sessionId: string
    readonly by: Pointer
  },
  besideEdge: number,
  reactionMs = quickMs,
) => {
  const { name, page, sessionId, by } = given
  const { done } = await scheduleOf(given.fixture, sessionId)
  const box = await pollUntil('a question is asked', async () => (await pictureOf(page)) ?? undefined)
  const seenAt = performance.now()
  const [right, bottom] = await page.evaluate<[number, number]>(
    '[document.documentElement.clientWidth, document.documentElement.clientHeight]',
  )
  assert.ok(
    box.x >= 0 && box.y >= 0 && box.x + box.width <= right && box.y + box.height <= bottom,
    `${name}: nothing of the picture lies under a scroll bar: ${JSON.stringify(box)} on ${right} by ${bottom}`,
  )
  const { open } = await scheduleOf(given.fixture, sessionId)
  assert.ok(open)
  const truth = expectedAnswerOf(open.probe)
  assert.ok(truth.kind === 'point')
  // The person looks from the moment of the question on: a busy machine reads the state meanwhile.
  await sleep(Math.max(0, seenAt + reactionMs - performance.now()))
  // Along the picture and towards its middle, so that it stays on it.
  const off = (truth.radius + besideEdge) * (truth.x < 160 ? 1 : -1)
  await pressAt(page, by, box.x + ((truth.x + off) * box.width) / 320, box.y + (truth.y * box.height) / 200)
  const counted = await pollUntil('the answer is counted', async () => {
    const now = await scheduleOf(given.fixture, sessionId)
    return now.done > done ? now : undefined
  })
  return { done: counted.done, hits: counted.hits, tookMs: Date.now() - open.askedAt }
}

type Case = { readonly by: Pointer; readonly view: View }
/** Takes a unit on this screen and begins to work on it, somewhere down the page. */
const begin = async (given: WorkerFixture, home: Parameters<typeof makeWorker>[1], { by, view }: Case) => {
  assert.ok(browser)
  const name = `${view.width} px, ${view.scale ?? 1} to 1, ${by}`
  const worker = await makeWorker(given.harness, home)
  const { context, page, faults } = await openContext(browser, view)
  const [cookie = '', value = ''] = worker.cookie.split('=')
  const place = { domain: 'localhost', path: '/', secure: true, httpOnly: true, sameSite: 'Strict' } as const
  await context.addCookies([{ name: cookie, value, ...place }])
  await servePictures(page)
  await page.goto(`${given.url}/work`)
  await page.getByRole('button', { name: 'Take this task' }).click()
  const opening = page.waitForResponse((response) => response.url().endsWith('/api/sessions'))
  await page.getByRole('button', { name: 'Begin and record' }).click()
  const { sessionId } = (await (await opening).json()) as { sessionId: string }
  await page.locator('.answer').waitFor()
  // Where the person has got to on the page must not matter.
  await page.evaluate('document.documentElement.style.minHeight = "3000px"; scrollTo(0, 240)')
  return { name, context, page, faults, fixture: given, sessionId, by }
}

const orderUnits = async ({ harness }: WorkerFixture, quantity: number): Promise<void> => {
  const { apiKey: key } = await harness.register('test')
  const items = Array.from({ length: quantity }, (_, index) => ({
    url: `https://pictures.example/${index}.svg`,
  }))
  const body = { taskType: 'wf_photo_label', quantity, items }
  const { json } = await harness.call('POST', '/api/agents/order', { key, body })
  const { orderId } = json as { orderId: string }
  const funded = await harness.call('POST', '/api/agents/order/fund', { key, body: { orderId } })
  assert.equal(funded.status, 200, funded.text)
}

const everyCase: readonly Case[] = [320, 375, 1_280].flatMap((width) =>
  [1, 3].flatMap((scale) =>
    (['mouse', 'touch'] as const).map((by) => ({
      by,
      view: { width, height: 812, scale, touch: by === 'touch' },
    })),
  ),
)

/** A finger on a phone, a mouse on a desktop. */
const usualCases = everyCase.filter(({ by, view }) => (by === 'mouse') === (view.width === 1_280))
const cases = isEveryView ? everyCase : usualCases

test('what is pointed at counts, and what is beside it does not, on every screen', { skip }, async (t) => {
  assert.ok(fixture)
  const home = await fixture.harness.register('test')
  await orderUnits(fixture, cases.length)
  const play = async (one: Case): Promise<void> => {
    const begun = await begin(fixture, home, one)
    const { name, page, context, faults } = begun
    const inside = await answer(begun, -missByPx)
    assert.deepEqual([inside.done, inside.hits], [1, 1], `${name}: just within the ring`)
    const beside = await answer(begun, missByPx)
    assert.deepEqual([beside.done, beside.hits], [2, 1], `${name}: just beside it`)
    assert.ok((await page.evaluate<number>('scrollY')) > 200, `${name}: the page stays where it was`)
    assert.deepEqual(faults, [], name)
    t.diagnostic(`${name}: counted right`)
    await context.close()
  }
  const left = [...cases]
  const playOn = async (): Promise<void> => {
    for (let next = left.shift(); next; next = left.shift()) await play(next)
  }
  await Promise.all(Array.from({ length: concurrencyMax }, playOn))
})

/**
 * The notice, the picture and the line both ways come out of the 3,000 ms for delivery, never out of the window. CI asks once on a
 * slow line; the battery `views` slows the phone down too, which a machine that is busy with other tests already does.
 */
test('a slow person with a slow phone on a slow line is in time', { skip }, async (t) => {
  assert.ok(fixture)
  const home = await fixture.harness.register('test')
  await orderUnits(fixture, 1)
  const view = { width: 375, height: 812, scale: 3, touch: true }
  const begun = await begin(fixture, home, { by: 'touch', view })
  const devtools = await begun.context.newCDPSession(begun.page)
  await devtools.send('Emulation.setCPUThrottlingRate', { rate: isEveryView ? 6 : 1 })
  fixture.line.eachWayMs = 400
  try {
    for (const n of isEveryView ? [1, 2, 3] : [1]) {
      const { done, hits, tookMs } = await answer(begun, -missByPx, slowMs)
      t.diagnostic(
        `answered ${slowMs} ms after it was seen, counted ${tookMs} ms after it was asked, of 5,500`,
      )
      assert.deepEqual([done, hits], [n, n])
    }
  } finally {
    fixture.line.eachWayMs = 0
    await begun.context.close()
  }
})
