import assert from 'node:assert/strict'
import { test } from 'node:test'
import { findChromium, launch } from '../../packages/web/test/browser.ts'
import { readScript, timesOf, watchScript, type Timeline } from './check-timeline.ts'

const mark = (at: number, state: string, isAsking = false) => ({ at, state, isAsking })

test('time without an open question counts from the click to the verdict', () => {
  const timeline: Timeline = {
    startedAt: 1_000,
    sessionId: null,
    marks: [
      mark(0, 'idle'),
      mark(1_010, 'opening'),
      mark(1_300, 'point'),
      mark(1_320, 'point', true),
      mark(2_520, 'point'),
      mark(2_700, 'point', true),
      mark(4_000, 'waiting'),
      mark(4_200, 'passed'),
      mark(9_000, 'idle'),
    ],
  }
  assert.deepEqual(timesOf(timeline), {
    verdict: 'passed',
    totalMs: 3_200,
    idleMs: 320 + 180 + 200,
    openingMs: 320,
    endingMs: 200,
    questionsMs: [1_200, 1_300],
  })
})

test('a question that changes its state while it runs is one question', () => {
  const marks = [mark(10, 'point', true), mark(500, 'choose', true), mark(900, 'retry')]
  assert.deepEqual(timesOf({ startedAt: 0, sessionId: null, marks }), {
    verdict: 'retry',
    totalMs: 900,
    idleMs: 10,
    openingMs: 10,
    endingMs: 0,
    questionsMs: [890],
  })
})

test('a check without a click or without a verdict has no times', () => {
  assert.equal(timesOf({ startedAt: null, sessionId: null, marks: [mark(5, 'passed')] }), undefined)
  assert.equal(timesOf({ startedAt: 1, sessionId: null, marks: [mark(5, 'waiting')] }), undefined)
  // The verdict of an earlier run is not the one of this run.
  assert.equal(
    timesOf({ startedAt: 10, sessionId: null, marks: [mark(5, 'passed'), mark(11, 'opening')] }),
    undefined,
  )
})

/** The hooks of the widget, moved by a script at known times. */
const page = `<!doctype html><title>Page</title><pohf-check></pohf-check><script>
const root = document.querySelector('pohf-check').attachShadow({ mode: 'open' })
root.innerHTML = '<div class="w" data-state="idle"><button class="go"><b>Start</b></button><div class="bar"></div></div>'
const w = root.querySelector('.w'), bar = root.querySelector('.bar')
const steps = [[100, () => { w.dataset.state = 'point' }], [300, () => bar.classList.add('runs')],
  [900, () => bar.classList.remove('runs')], [1_100, () => { w.dataset.state = 'passed'
    document.querySelector('pohf-check').dispatchEvent(new CustomEvent('pohf-done', { bubbles: true, composed: true, detail: { sessionId: 'ses_1' } })) }]]
root.querySelector('.go').onclick = () => { for (const [ms, step] of steps) setTimeout(step, ms) }
</script>`

const chromium = findChromium()

test(
  'the page itself keeps the times of its widget',
  { skip: 'missing' in chromium && chromium.missing },
  async () => {
    assert.ok('path' in chromium)
    const browser = await launch(chromium.path)
    try {
      const tab = await browser.newPage()
      await tab.setContent(page)
      await tab.evaluate(watchScript)
      await tab.click('pohf-check .go')
      await tab.waitForFunction('pohfTimeline.sessionId !== null')
      const timeline = await tab.evaluate<Timeline>(readScript)
      const times = timesOf(timeline)
      assert.equal(timeline.sessionId, 'ses_1')
      assert.equal(times?.verdict, 'passed')
      assert.equal(times.questionsMs.length, 1)
      const [questionMs = 0] = times.questionsMs
      // Timers of a busy page are late, never early.
      assert.ok(times.totalMs >= 1_090 && questionMs >= 500 && times.idleMs >= 400, JSON.stringify(times))
      assert.ok(Math.abs(times.totalMs - times.idleMs - questionMs) < 0.01)
    } finally {
      await browser.close()
    }
  },
)
