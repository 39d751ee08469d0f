import type { Probe } from '@pohf/protocol'
import { sourceOf } from './listeners.ts'
import { afterPaint, canvasPoint, draw } from './picture.ts'
import type { Progress, Session } from './session.ts'
import type { View } from './view.ts'

type PresenterOptions = {
  readonly view: View
  readonly session: () => Session | undefined
  /** What to say about the questions so far. */
  readonly context: () => { readonly progress: Progress; readonly missed: string }
  readonly onAnswered: () => void
  readonly onMissed: () => void
  /** The person asks for questions in words. */
  readonly onWords: () => void
}
/** Times are sent in whole milliseconds. */
const clockMs = 10

type OpenProbe = { readonly probe: Probe; timer?: ReturnType<typeof setTimeout> }

/** Presents one probe at a time in the box and hands its answer to the session. */
export const makeProbePresenter = (options: PresenterOptions) => {
  const { view, session } = options
  const { canvas } = view
  let open: OpenProbe | undefined

  const drop = (): void => {
    clearTimeout(open?.timer)
    open = undefined
  }
  const choose = (choice: number, event: MouseEvent | KeyboardEvent): void => {
    if (!open) return
    const by =
      event instanceof KeyboardEvent ? ({ how: 'k', trusted: event.isTrusted } as const) : sourceOf(event)
    session()?.choose(open.probe.id, by, { timeStamp: event.timeStamp, choice })
    options.onAnswered()
  }
  canvas.addEventListener('click', (event) => {
    const { how, trusted } = sourceOf(event)
    // A click without coordinates comes from a keyboard or a screen reader, for which there are words.
    if (!open || how === 'k') return
    const at = { timeStamp: event.timeStamp, ...canvasPoint(canvas, event) }
    session()?.point(open.probe.id, { how, trusted }, at)
    options.onAnswered()
  })

  return {
    drop,
    isOpen: (): boolean => open !== undefined,
    /** A digit answers a question in words. */
    chooseByKey: (event: KeyboardEvent): void => {
      const index = '123456789'.indexOf(event.key)
      if (!event.repeat && open?.probe.kind === 'choose' && index >= 0 && index < open.probe.choices.length)
        choose(index, event)
    },
    /** Shows the probe once `ready` has resolved. It is missed when it was not painted within `graceMs` more than its window. */
    present: async (probe: Probe, graceMs: number, ready?: Promise<unknown>): Promise<void> => {
      const mine: OpenProbe = { probe }
      const isMine = () => open === mine
      const miss = () => isMine() && options.onMissed()
      drop()
      open = mine
      mine.timer = setTimeout(miss, probe.windowMs + graceMs)
      await Promise.all([ready, probe.kind === 'point' ? draw(canvas, probe) : undefined])
      if (!isMine()) return
      if (probe.kind === 'point') view.point(options.context(), options.onWords)
      else view.choose(probe, options.context(), choose)
      view.run(probe.windowMs)
      await afterPaint()
      if (!isMine()) return
      session()?.shown(probe.id)
      clearTimeout(mine.timer)
      // Afterwards the next chunk shows the service, by the page's own clock, that the time is over.
      mine.timer = setTimeout(miss, probe.windowMs + clockMs)
    },
  }
}
