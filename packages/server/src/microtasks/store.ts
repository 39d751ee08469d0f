import { sql } from 'kysely'
import type { Mode } from '@pohf/protocol'
import { now, readNow, type Tx } from '../platform/db/db.ts'

type TokenKey = { readonly agentId: string; readonly mode: Mode; readonly nonce: string }
/** Claims a token; false where it was used before. */
export const insertTokenClaim = async (tx: Tx, token: TokenKey, expiresAt: Date): Promise<boolean> => {
  const result = await tx
    .insertInto('task_token_claims')
    .values({ agent_id: token.agentId, mode: token.mode, nonce: token.nonce, expires_at: expiresAt })
    .onConflict((conflict) => conflict.doNothing())
    .executeTakeFirst()
  return result.numInsertedOrUpdatedRows === 1n
}

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

type NewCompletion = {
  readonly agentId: string
  readonly mode: Mode
  readonly completionId: string
  readonly taskId: string
  readonly memberRef: string | undefined
  readonly answer: unknown
  readonly correct: boolean | null
  readonly attended: boolean
  readonly sessionId: string
  readonly verified: boolean
  readonly rewardStars: number
}
export const insertCompletion = async (tx: Tx, completion: NewCompletion): Promise<void> => {
  await tx
    .insertInto('task_completions')
    .values({
      agent_id: completion.agentId,
      completion_id: completion.completionId,
      at: await readNow(tx),
      mode: completion.mode,
      task_id: completion.taskId,
      member_ref: completion.memberRef ?? null,
      answer: completion.answer === undefined ? null : JSON.stringify(completion.answer),
      correct: completion.correct,
      attended: completion.attended,
      session_id: completion.sessionId,
      verified: completion.verified,
      reward_stars: completion.rewardStars,
    })
    .execute()
}

/** Erasure: removes the member and the answer from completions. */
export const eraseCompletions = async (
  tx: Tx,
  member: { readonly agentId: string; readonly mode: Mode; readonly memberId: string },
): Promise<void> => {
  await tx
    .updateTable('task_completions')
    .set({ member_ref: null, answer: null })
    .where('agent_id', '=', member.agentId)
    .where('mode', '=', member.mode)
    .where('member_ref', '=', member.memberId)
    .execute()
}
