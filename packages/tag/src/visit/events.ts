import type { Beacons, Props } from './beacons.ts'

/** A page is engaged after this time in view, or with the first press or key. */
const engagedMs = 10_000
const depths = [25, 50, 75, 100] as const
/** A shorter time in view since the last report is not reported. */
const dwellStepMs = 1_000
const tickMs = 1_000

const isVisible = (): boolean => document.visibilityState === 'visible'

/** How much of the page has been above the lower edge of the window, in percent. */
const depthNow = (): number => {
  const { scrollHeight } = document.documentElement
  // Browsers round the position of a scaled page: one pixel short is the end.
  return scrollHeight === 0 ? 0 : (100 * (scrollY + innerHeight + 1)) / scrollHeight
}

/** What happened on one path. */
const openPage = (path: string) => ({
  path,
  isEngaged: false,
  deepest: 0,
  viewedMs: 0,
  /** The time in view of the last report. */
  dwellMs: 0,
})

/** The page of now, and what is reported about it. */
const makePageReports = (beacons: Beacons) => {
  let page: ReturnType<typeof openPage> | undefined
  let countedAt = 0

  const count = (): void => {
    const now = performance.now()
    if (page && countedAt > 0) page.viewedMs += now - countedAt
    countedAt = isVisible() ? now : 0
  }
  const engage = (): void => {
    if (!page || page.isEngaged) return
    page.isEngaged = true
    beacons.add('engaged', page.path)
  }
  /** Only of an engaged page: the service counts a report of time as engagement. */
  const reportDwell = (): void => {
    if (!page?.isEngaged || page.viewedMs - page.dwellMs < dwellStepMs) return
    page.dwellMs = page.viewedMs
    beacons.add('dwell', page.path, { ms: Math.round(page.viewedMs) })
  }
  /** Counts the time in view, and begins anew where the path is another one. */
  const update = (): void => {
    count()
    if (page && page.viewedMs >= engagedMs) engage()
    if (!isVisible() || page?.path === location.pathname) return
    reportDwell()
    page = openPage(location.pathname)
    beacons.add('landed', page.path)
  }
  const reportDepth = (): void => {
    for (const depth of depths)
      if (page && depth > page.deepest && depthNow() >= depth) {
        page.deepest = depth
        beacons.add('scroll', page.path, { depth })
      }
  }
  return { update, engage, reportDwell, reportDepth }
}

/**
 * Watches a visit: every path of it lands, may be engaged, is scrolled and is looked at. In a single-page application the
 * path changes without a load; it is compared before anything is noted, and once a second, so that no function of the
 * page has to be replaced.
 */
export const watchVisit = (
  beacons: Beacons,
  signal: AbortSignal,
): ((type: string, props?: Props) => boolean) => {
  const { update, engage, reportDwell, reportDepth } = makePageReports(beacons)
  const noteScroll = (): void => {
    update()
    reportDepth()
  }
  const notePress = ({ isTrusted }: Event): void => {
    update()
    if (isTrusted) engage()
  }
  const leave = (): void => {
    update()
    reportDwell()
    beacons.flush()
  }

  const options = { signal, passive: true, capture: true } as const
  document.addEventListener('visibilitychange', () => (isVisible() ? update() : leave()), options)
  addEventListener('pagehide', leave, options)
  addEventListener('popstate', update, options)
  // Not captured: only the page itself, not lists in it.
  document.addEventListener('scroll', noteScroll, { signal, passive: true })
  for (const type of ['pointerdown', 'keydown']) document.addEventListener(type, notePress, options)
  const timer = setInterval(update, tickMs)
  signal.addEventListener('abort', () => clearInterval(timer))
  update()

  return (type, props) => {
    update()
    return beacons.add(type, location.pathname, props)
  }
}
