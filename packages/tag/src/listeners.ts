import type { PointerKind } from '@pohf/protocol/telemetry'
import type { AnswerSource, Recorder } from './recorder.ts'

const kinds: ReadonlyMap<string, PointerKind> = new Map([
  ['mouse', 'm'],
  ['touch', 't'],
  ['pen', 'p'],
])
/** Keys that move the focus or press something. Of other keys only the time is recorded. */
const navigating = new Set(['Tab', 'Enter', ' ', 'Escape', 'ArrowUp', 'ArrowDown', 'ArrowLeft', 'ArrowRight'])

const kindOf = (event: PointerEvent): PointerKind => kinds.get(event.pointerType) ?? 'm'
/** Some browsers do not report the pointer of a click: then it is the one that was pressed last. */
let lastPressed: PointerKind = 'm'

/** The source of a click: a pointer, or a keyboard or an assistive device, which click without coordinates. */
export const sourceOf = (event: MouseEvent): AnswerSource => ({
  how: event.detail === 0 ? 'k' : (kinds.get((event as PointerEvent).pointerType) ?? lastPressed),
  trusted: event.isTrusted,
})

/** Whether the browser reports the points between two frames. */
export const coalesces = (): boolean => typeof PointerEvent.prototype.getCoalescedEvents === 'function'

type Listening = {
  readonly recorder: Recorder
  /** Turns a browser's time into the session's. */
  readonly since: (timeStamp: number) => number
  readonly on: (
    target: EventTarget,
    types: string,
    handler: (event: Event & PointerEvent & KeyboardEvent) => void,
  ) => void
}

const listenToPointer = ({ recorder, since, on }: Listening): void => {
  on(document, 'pointermove', (event) => {
    const points = coalesces() ? event.getCoalescedEvents() : []
    recorder.move(
      { how: kindOf(event), trusted: event.isTrusted },
      (points.length > 0 ? points : [event]).map((point) => ({
        t: since(point.timeStamp),
        x: point.clientX,
        y: point.clientY,
      })),
    )
  })
  on(document, 'pointerdown pointerup', (event) => {
    lastPressed = kindOf(event)
    recorder.press(
      event.type === 'pointerdown' ? 'd' : 'u',
      { how: lastPressed, trusted: event.isTrusted },
      { t: since(event.timeStamp), x: event.clientX, y: event.clientY },
    )
  })
  on(document, 'click', (event) => recorder.click(since(event.timeStamp), sourceOf(event)))
}

const listenToKeys = ({ recorder, since, on }: Listening): void =>
  on(document, 'keydown keyup', (event) => {
    // A key that is held down counts once.
    if (!event.repeat)
      recorder.key(
        since(event.timeStamp),
        event.type === 'keydown' ? 'd' : 'u',
        navigating.has(event.key),
        event.isTrusted,
      )
  })

const listenToScrolling = ({ recorder, since, on }: Listening): void => {
  const scrollOffsets = new WeakMap<object, number>([[document, scrollY]])
  on(document, 'scroll', (event) => {
    const target = event.target as Document | Element
    const now = target instanceof Element ? target.scrollTop : scrollY
    const dy = now - (scrollOffsets.get(target) ?? 0)
    scrollOffsets.set(target, now)
    if (Math.round(dy) !== 0) recorder.scroll(since(event.timeStamp), dy)
  })
}

/** Records changes of the page's visibility and focus, and of the share of the element in view. */
const watchVisibility = (
  { recorder, since, on }: Listening,
  signal: AbortSignal,
  element: Element | undefined,
): void => {
  let share = element ? 0 : 100
  let lastReported = ''
  const reportVisibility = () => {
    const [visible, focused] = [document.visibilityState === 'visible', document.hasFocus()]
    const state = `${visible} ${focused} ${Math.round(share)}`
    if (state !== lastReported) recorder.focus(since(performance.now()), visible, focused, share)
    lastReported = state
  }
  on(document, 'visibilitychange', reportVisibility)
  on(window, 'focus blur', reportVisibility)
  if (element) {
    const observer = new IntersectionObserver(
      (entries) => {
        share = 100 * (entries.at(-1)?.intersectionRatio ?? 0)
        reportVisibility()
      },
      { threshold: Array.from({ length: 11 }, (_, tenth) => tenth / 10) },
    )
    observer.observe(element)
    signal.addEventListener('abort', () => observer.disconnect())
  }
  reportVisibility()
}

/**
 * Listens, until `signal` is aborted, and writes to the recorder. `since` turns a browser's time into the session's.
 * Of keys it records the time and whether they navigate. It reads nothing of the page, its fields or its text.
 */
export const listen = (
  recorder: Recorder,
  since: (timeStamp: number) => number,
  signal: AbortSignal,
  element: Element | undefined,
): void => {
  const on: Listening['on'] = (target, types, handler) => {
    for (const type of types.split(' '))
      target.addEventListener(type, handler as (event: Event) => void, {
        capture: true,
        passive: true,
        signal,
      })
  }
  const listening = { recorder, since, on }
  listenToPointer(listening)
  listenToKeys(listening)
  listenToScrolling(listening)
  watchVisibility(listening, signal, element)
}
