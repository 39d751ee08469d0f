import assert from 'node:assert/strict'
import type { Page } from 'playwright-core'
import { createApproverTest, heading, invoice, referencePhone } from './approver-browser.ts'
import { desktop } from './worker-browser.ts'

const { inBrowser } = await createApproverTest()

type Stop = {
  readonly name: string
  readonly isOutlined: boolean
  readonly isSeen: boolean
  readonly place: number
}

/** The element with the focus, also inside the box of the questions: whether one sees that it has it, and its place in the page. */
const readStop = (page: Page): Promise<Stop | undefined> =>
  page.evaluate<Stop | undefined>(`(async () => {
    // What was scrolled is in its place after the next frame, which a busy machine draws late.
    await new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(resolve)))
    const host = document.activeElement
    if (host === null || host === document.body) return undefined
    const one = host.shadowRoot?.activeElement ?? host
    const { outlineStyle, outlineWidth } = getComputedStyle(one)
    const box = one.getBoundingClientRect()
    const [x, y] = [box.left + box.width / 2, box.top + Math.min(box.height / 2, 20)]
    const top = document.elementFromPoint(x, y)
    return {
      name: one.tagName + ' ' + (one.getAttribute('aria-label') ?? one.textContent).trim().slice(0, 40),
      isOutlined: outlineStyle !== 'none' && parseFloat(outlineWidth) >= 2,
      isSeen: top !== null && (host === top || host.contains(top) || top.contains(host)),
      place: [...document.querySelectorAll('*')].indexOf(host),
    }
  })()`)

/** Every stop of Tab, from the top of the page to its end. */
const tabThrough = async (page: Page): Promise<Stop[]> => {
  const stops: Stop[] = []
  await page.locator('.brand').focus()
  // To the next and back: the outline is for people who come by keyboard.
  await page.keyboard.press('Tab')
  await page.keyboard.press('Shift+Tab')
  for (let steps = 0; steps < 60; steps += 1) {
    const stop = await readStop(page)
    if (stop === undefined || (stops[0]?.name === stop.name && stops.length > 1)) return stops
    stops.push(stop)
    await page.keyboard.press('Tab')
  }
  throw new Error(`Tab does not leave the page: ${stops.map(({ name }) => name).join(', ')}`)
}

const checkStops = (stops: readonly Stop[], least: number): void => {
  assert.ok(stops.length >= least, stops.map(({ name }) => name).join(', '))
  assert.deepEqual(
    stops.filter(({ isOutlined, isSeen }) => !isOutlined || !isSeen),
    [],
    'the focus is seen, and nothing lies over it',
  )
  const places = stops.map(({ place }) => place)
  assert.deepEqual(
    places,
    places.toSorted((a, b) => a - b),
    'in the order of the page',
  )
}

/** A title takes the focus a moment after it is drawn, and would take it from the first stop of Tab. */
const headingInFocus = async (page: Page, text: string): Promise<void> => {
  await heading(page, text)
  await page.locator('h1:focus').waitFor()
}

for (const view of [referencePhone, desktop])
  inBrowser(
    `by Tab alone at ${view.width} px: the focus is always seen, in order, and leaves the page`,
    view,
    async (opened) => {
      const { page } = opened.person
      const lines = Array.from({ length: 60 }, (_, index) => `step ${index + 1}`).join('\n')
      const approvalId = await opened.request({ action: { ...invoice, memo: lines } })
      await opened.person.open(approvalId)
      await page.locator('pohf-questions .ask').waitFor()
      checkStops(await tabThrough(page), 11)
      await page.locator('#deny').click()
      await page.getByText('The request as signed (JSON)').click()
      checkStops(await tabThrough(page), 14)
      await page.locator('#deny').focus()
      await page.evaluate(`document.querySelector('.long').scrollTo(0, 1e6)`)
      await page.locator('small.read').waitFor()
      assert.equal((await readStop(page))?.name, 'BUTTON Deny', 'a page that changes leaves the focus alone')
      await page.goto(`${opened.fixture.url}/approve/apl_none`)
      await headingInFocus(page, 'There is no such request, or it is not for you.')
      checkStops(await tabThrough(page), 5)
      await page.goto(`${opened.fixture.url}/approve`)
      await headingInFocus(page, 'One request waits for you.')
      checkStops(await tabThrough(page), 3)
    },
  )
