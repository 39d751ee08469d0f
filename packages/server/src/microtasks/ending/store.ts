import { sql } from 'kysely'
import type { Mode } from '@pohf/protocol'
import { now, type Tx } from '../../platform/db/db.ts'

/** Deletes a batch of token claims that expired an hour ago and returns their number. */
export const deleteOldTokenClaims = async (tx: Tx): Promise<number> => {
  const { numAffectedRows } = await sql`
    delete from task_token_claims where (agent_id, mode, nonce) in (
      select agent_id, mode, nonce from task_token_claims
      where expires_at < ${now()} - interval '1 hour' order by expires_at limit 1000 for update skip locked)`.execute(
    tx,
  )
  return Number(numAffectedRows ?? 0n)
}

/** How long an answer that ended, and what is known of a visitor, are kept after the last change. */
const keepDays = 180
const batch = 1_000
/** Deletes a batch of old answers and visitors and returns their number. */
export const deleteOldAnswers = async (tx: Tx): Promise<number> => {
  const answers = await sql`
    delete from task_answers where (agent_id, mode, campaign_id, n, visitor) in (
      select agent_id, mode, campaign_id, n, visitor from task_answers
      where state <> 'waiting' and at < ${now()} - make_interval(days => ${keepDays})
      order by at limit ${batch} for update skip locked)`.execute(tx)
  const visitors = await sql`
    delete from task_visitors where (agent_id, mode, campaign_id, visitor) in (
      select agent_id, mode, campaign_id, visitor from task_visitors
      where changed_at < ${now()} - make_interval(days => ${keepDays})
      order by changed_at limit ${batch} for update skip locked)`.execute(tx)
  return Number(answers.numAffectedRows ?? 0n) + Number(visitors.numAffectedRows ?? 0n)
}

/** Locks answers that have waited for so many days, with their campaigns. */
export const claimOldAnswers = async (tx: Tx, days: number, limit: number) => {
  const { rows } = await sql<{
    agentId: string
    mode: Mode
    campaignId: string
    n: number
    visitor: string
    answer: string
    completionId: string
    memberId: string | null
    heldStars: number
    hasEnded: boolean
  }>`
    select a.agent_id as "agentId", a.mode, a.campaign_id as "campaignId", a.n, a.visitor, a.answer, a.completion_id as "completionId",
      a.member_id as "memberId", a.held_stars as "heldStars", c.status = 'ended' as "hasEnded"
    from task_answers a
    join task_campaigns c on c.agent_id = a.agent_id and c.mode = a.mode and c.campaign_id = a.campaign_id
    where a.state = 'waiting' and a.at < ${now()} - make_interval(days => ${days})
    order by a.at limit ${limit} for no key update skip locked`.execute(tx)
  return rows
}
