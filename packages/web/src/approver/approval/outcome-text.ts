import { serverNow } from '../../shared/person/api.ts'
import { fillPlaceholders } from '../../shared/design/fill-placeholders.ts'
import { agoText, timeText } from '../format.ts'
import type { PageContext } from '../messages.ts'
import type { Approval } from '../wire.ts'

export type OutcomeText = {
  readonly title: string
  readonly lead: string
  /** How the seal is drawn. */
  readonly mark: 'approved' | 'denied' | 'expired'
}

/** The service's clock is known to a second. */
const clockToleranceMs = 2_000

/** Until this moment an approved action waits and can still be denied; undefined where it does not wait any more. */
export const vetoUntil = ({ status, ownDecision, consumableAt }: Approval): string | undefined =>
  status === 'approved' &&
  ownDecision !== 'deny' &&
  consumableAt !== null &&
  Date.parse(consumableAt) - serverNow() > clockToleranceMs
    ? consumableAt
    : undefined

const permissionText = ({ messages, locale }: PageContext, approval: Approval): string => {
  const { outcome } = messages
  const { envelope, approvers, agentName: agent, status, consumableAt } = approval
  const at = (instant: string) => timeText(instant, locale, serverNow())
  const time = at(envelope.consumeBy)
  if (status === 'consumed') return outcome.consumedLead
  if (status === 'approved')
    return consumableAt !== null && vetoUntil(approval) !== undefined
      ? fillPlaceholders(outcome.mayDoFrom, { agent, from: at(consumableAt), time })
      : fillPlaceholders(outcome.mayDo, { agent, time })
  const n = envelope.policy.quorum - approvers.filter(({ decision }) => decision === 'approve').length
  return n === 1
    ? fillPlaceholders(outcome.mayDoAfterOne, { agent, time })
    : fillPlaceholders(outcome.mayDoAfter, { agent, time, n })
}

const expiredText = ({ messages, locale }: PageContext, approval: Approval): OutcomeText => {
  const { outcome } = messages
  const isApproved = approval.consumableAt !== null
  return {
    title: isApproved
      ? outcome.expiredUnused
      : fillPlaceholders(outcome.expired, { time: timeText(approval.decideBy, locale, serverNow()) }),
    lead: isApproved ? outcome.expiredUnusedLead : outcome.expiredLead,
    mark: 'expired',
  }
}

/** What became of a request: in one sentence, and what follows. */
export const outcomeText = (page: PageContext, approval: Approval): OutcomeText => {
  const { outcome } = page.messages
  const { own, status, agentName: agent } = approval
  const ago = own === null ? '' : agoText(page.messages, serverNow() - Date.parse(own.decidedAt))
  if (approval.ownDecision === 'deny')
    return {
      title: fillPlaceholders(outcome.denied, { ago }),
      lead: fillPlaceholders(outcome.deniedLead, { agent }),
      mark: 'denied',
    }
  if (status === 'denied')
    return { title: outcome.otherDenied, lead: outcome.otherDeniedLead, mark: 'denied' }
  if (status === 'expired') return expiredText(page, approval)
  const lead = permissionText(page, approval)
  if (approval.ownDecision === 'approve')
    return { title: fillPlaceholders(outcome.approved, { ago }), lead, mark: 'approved' }
  return { title: status === 'consumed' ? outcome.consumed : outcome.othersApproved, lead, mark: 'approved' }
}
