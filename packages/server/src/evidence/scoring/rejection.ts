import { verdictReasons, type SessionVerdict, type VerdictReason } from '@pohf/protocol'
import type { AttentionReason, FlagName, UnscoredReason } from '@pohf/protocol/reasons'

/** `failed`: no second attempt is offered, and no other reason is given beside it. */
type ShownReason =
  Extract<VerdictReason, 'questions_missed' | 'page_hidden' | 'interrupted'> | 'not_confirmed' | 'failed'

/**
 * The reason that a person is told for each flag. Missed questions, a hidden page and an interrupted recording are named,
 * because the user of the page sees them anyway. For all other flags the person is told `not_confirmed`, so that an attacker
 * does not learn which rule found them; after `failed` no further attempt is offered.
 */
const shownReasonByFlag: Readonly<Record<FlagName, ShownReason>> = {
  // A page that slept, was restored or lost its connection also causes this flag, so the person may try again.
  chain_broken: 'interrupted',
  nonce_reuse: 'interrupted',
  clock_skew: 'interrupted',
  insufficient_evidence: 'interrupted',
  background: 'page_hidden',
  probe_missed: 'questions_missed',
  untrusted_events: 'failed',
  automation_env: 'failed',
  replay_match: 'failed',
  honeypot_hit: 'failed',
  impossible_timing: 'failed',
  device_shared: 'failed',
  no_approach_path: 'not_confirmed',
  synthetic_motion: 'not_confirmed',
  gaze_away: 'not_confirmed',
  geo_mismatch: 'not_confirmed',
  datacenter_ip: 'not_confirmed',
}

/** The same for reasons that name no flag. Presence and the answer of a micro-task have no page that shows a verdict. */
const shownReasonByCode: Readonly<Record<AttentionReason | UnscoredReason, ShownReason>> = {
  quality_low: 'not_confirmed',
  focus_low: 'page_hidden',
  attention_unproven: 'questions_missed',
  answer_wrong: 'questions_missed',
  records_gone: 'interrupted',
  scoring_failed: 'interrupted',
}

const shownReasons: ReadonlyMap<string, ShownReason> = new Map(
  Object.entries({ ...shownReasonByFlag, ...shownReasonByCode }),
)

/** An unknown name, such as one of a newer version during an update, is not explained. */
const shownReasonOf = (name: string): ShownReason => shownReasons.get(name) ?? 'not_confirmed'

/** What the person of a session that was not verified is told. */
export const rejectionOf = ({
  flags,
  reasons,
}: {
  readonly flags: readonly string[]
  readonly reasons: readonly string[]
}): SessionVerdict => {
  const told = new Set<string>(
    [...flags, ...reasons.map((reason) => reason.replace(/^flag_/, ''))].map(shownReasonOf),
  )
  if (told.has('failed')) return { verdict: 'failed', reasons: ['not_confirmed'] }
  const explained = verdictReasons.filter((reason) => reason !== 'not_confirmed' && told.has(reason))
  return { verdict: 'retry', reasons: explained.length === 0 ? ['not_confirmed'] : explained }
}
