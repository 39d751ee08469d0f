import type { ApprovalView } from '@pohf/verify/approvals'
import { hmacOf } from '../../platform/ops/secrets.ts'

export const challengeMinutes = 5
export const listMax = 50
/** How many waiting approvals of one agent the list has. */
export const waitingPerAgentMax = 10
/** Critical fields whose values are compared with those that the person approved before. */
const comparedFieldsMax = 20
/** After this many decisions in a row that were faster than the reading time, the page asks the person to slow down. */
export const fastInRow = 3
/** Values that a person approved are known for this long. */
export const valueDays = 400

type ValueHash = { readonly path: string; readonly hash: Buffer }

/** Keyed hashes of the critical values of a view, for one approver: the same value at another approver has another hash. */
export const valueHashesOf = (
  key: Buffer,
  approver: { readonly agentId: string; readonly mode: string; readonly approverId: string },
  view: ApprovalView,
): ValueHash[] =>
  view.critical.slice(0, comparedFieldsMax).map(({ path, text }) => {
    const fields = [approver.agentId, approver.mode, approver.approverId, view.type, path, text]
    const hash = fields
      .reduce((mac, field) => mac.update(`${Buffer.byteLength(field)}:`).update(field), hmacOf(key))
      .digest()
    return { path, hash }
  })

type TimedDecision = { readonly inViewSeconds: number | null; readonly readingSeconds: number | null }

/** Whether each of the last decisions took less time than reading. */
export const isTooFastInRow = (latest: readonly TimedDecision[]): boolean =>
  latest.length >= fastInRow &&
  latest
    .slice(0, fastInRow)
    .every(
      ({ inViewSeconds, readingSeconds }) =>
        inViewSeconds !== null && readingSeconds !== null && inViewSeconds < readingSeconds,
    )
