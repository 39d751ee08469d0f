// How long the page was seen, and the component `focus`. The server uses it to decide whether to ask further.
import type { TelemetryEvent } from '@pohf/protocol/telemetry'

/**
 * How long the page must be seen with half of the element in view and the focus. A choice, not a measurement: a check needs
 * 1 s for each probe that suffices, because waiting costs a script nothing and costs a person time. An approval has text to
 * read; how long it must be read is up to the policy of its action type.
 */
export const requiredVisibleMs = { view: 2_000, work: 10_000, task: 2_000, approval: 3_000 } as const
export type ScoredKind = keyof typeof requiredVisibleMs
/** Of a view or task in a browser that passed on an earlier day: one probe suffices. */
export const requiredVisibleMsReturning = 1_000

export const focusScore = (kind: ScoredKind, visibleMs: number, returning: boolean): number => {
  const isShort = returning && (kind === 'view' || kind === 'task')
  const required = isShort ? requiredVisibleMsReturning : requiredVisibleMs[kind]
  return Math.round(Math.min(1, visibleMs / required) * 1_000) / 1_000
}

/** Whether one probe suffices: the server knows the browser from an earlier day on this site, or a passkey signs the act. */
export const needsOneProbe = (kind: ScoredKind, returning: boolean): boolean =>
  returning || kind === 'approval'

/** How long the page was seen up to its last change, and since when it is seen. */
export type VisibleTime = { readonly ms: number; readonly since: number | null }
export const neverVisible: VisibleTime = { ms: 0, since: null }

/** Half of the element in view, the page visible, the document focused. */
export const addVisibleTime = (before: VisibleTime, events: readonly TelemetryEvent[]): VisibleTime => {
  let { ms, since } = before
  for (const event of events) {
    if (event.type !== 'focus') continue
    const seen = event.visible && event.focused && event.share >= 50
    if (since !== null) ms += event.t - since
    since = seen ? event.t : null
  }
  return { ms, since }
}

export const visibleMsAt = ({ ms, since }: VisibleTime, endMs: number): number =>
  since === null ? ms : ms + Math.max(0, endMs - since)
