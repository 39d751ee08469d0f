import type { Mode } from '@pohf/protocol'
import { now, readNow, type Tx } from '../platform/db/db.ts'
import type { VisitorAccuracy } from './rules.ts'

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

export type NewCompletion = {
  readonly agentId: string
  readonly mode: Mode
  readonly completionId: string
  readonly taskId: string
  readonly campaignId: string | undefined
  readonly question: number | undefined
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
      campaign_id: completion.campaignId ?? null,
      question: completion.question ?? null,
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

export type CampaignKey = { readonly agentId: string; readonly mode: Mode; readonly campaignId: string }
export type ServedCampaign = CampaignKey & { readonly rewardStars: number; readonly agreement: number }
type VisitorKey = CampaignKey & { readonly visitor: string }

/** As many as an agent can have open: see `openCampaignsMax` in campaigns/create.ts. */
const servedMax = 20
const candidatesMax = 20

/** The active campaigns of an agent, oldest first. */
export const listActiveCampaigns = async (
  tx: Tx,
  { agentId, mode }: Pick<CampaignKey, 'agentId' | 'mode'>,
): Promise<ServedCampaign[]> => {
  const rows = await tx
    .selectFrom('task_campaigns')
    .select(['campaign_id', 'reward_stars', 'agreement'])
    .where('agent_id', '=', agentId)
    .where('mode', '=', mode)
    .where('status', '=', 'active')
    .orderBy('campaign_id')
    .limit(servedMax)
    .execute()
  return rows.map((row) => ({
    agentId,
    mode,
    campaignId: row.campaign_id,
    rewardStars: row.reward_stars,
    agreement: row.agreement,
  }))
}

/**
 * Locks a campaign: serializes the settlement of its answers, its end, and the expiry of old answers. Rows that refer to the
 * campaign can still be inserted.
 */
export const lockServedCampaign = async (
  tx: Tx,
  { agentId, mode, campaignId }: CampaignKey,
): Promise<(ServedCampaign & { readonly status: string }) | undefined> => {
  const row = await tx
    .selectFrom('task_campaigns')
    .select(['reward_stars', 'agreement', 'status'])
    .where('agent_id', '=', agentId)
    .where('mode', '=', mode)
    .where('campaign_id', '=', campaignId)
    .forNoKeyUpdate()
    .executeTakeFirst()
  return (
    row && {
      agentId,
      mode,
      campaignId,
      rewardStars: row.reward_stars,
      agreement: row.agreement,
      status: row.status,
    }
  )
}

/** Questions that the visitor has not answered: open ones, or those with a known answer. */
export const listCandidates = async (tx: Tx, key: VisitorKey, questionKind: 'open' | 'known') =>
  tx
    .selectFrom('task_questions as question')
    .select(['question.n', 'question.prompt', 'question.options'])
    .where('question.agent_id', '=', key.agentId)
    .where('question.mode', '=', key.mode)
    .where('question.campaign_id', '=', key.campaignId)
    .where('question.state', '=', 'open')
    .where('question.known_answer', questionKind === 'open' ? 'is' : 'is not', null)
    .where((where) =>
      where.not(
        where.exists(
          where
            .selectFrom('task_answers as given')
            .select('given.n')
            .where('given.agent_id', '=', key.agentId)
            .where('given.mode', '=', key.mode)
            .where('given.campaign_id', '=', key.campaignId)
            .whereRef('given.n', '=', 'question.n')
            .where('given.visitor', '=', key.visitor),
        ),
      ),
    )
    .orderBy('question.n')
    .limit(candidatesMax)
    .execute()

export type QuestionKey = CampaignKey & { readonly n: number }
/** A question of a locked campaign. */
export const findQuestion = async (tx: Tx, key: QuestionKey) =>
  tx
    .selectFrom('task_questions')
    .select(['options', 'known_answer', 'agreed_answer', 'state'])
    .where('agent_id', '=', key.agentId)
    .where('mode', '=', key.mode)
    .where('campaign_id', '=', key.campaignId)
    .where('n', '=', key.n)
    .executeTakeFirst()

type QuestionChange = {
  readonly answers?: number
  readonly right?: number
  readonly agreed?: string | null
}
/** Counts answers; `agreed` ends the question, with an answer or without. */
export const updateQuestion = async (tx: Tx, key: QuestionKey, change: QuestionChange): Promise<void> => {
  const { answers = 0, right = 0, agreed } = change
  await tx
    .updateTable('task_questions')
    .set((set) => ({
      answers: set('answers', '+', answers),
      right_answers: set('right_answers', '+', right),
      ...(agreed === undefined
        ? {}
        : { state: agreed === null ? 'disagreed' : 'agreed', agreed_answer: agreed }),
    }))
    .where('agent_id', '=', key.agentId)
    .where('mode', '=', key.mode)
    .where('campaign_id', '=', key.campaignId)
    .where('n', '=', key.n)
    .execute()
}

export type QuestionAnswer = {
  readonly visitor: string
  readonly completionId: string
  readonly answer: string
  readonly state: 'waiting' | 'right' | 'wrong'
  readonly memberId: string | null
  readonly sessionId: string
  readonly recordedSession: string | null
  readonly assignedAt: Date
  readonly heldStars: number
}
/** A visitor answers a question once: candidates are questions without an answer, and a place is completed once. */
export const insertAnswer = async (tx: Tx, key: QuestionKey, answer: QuestionAnswer): Promise<void> => {
  await tx
    .insertInto('task_answers')
    .values({
      agent_id: key.agentId,
      mode: key.mode,
      campaign_id: key.campaignId,
      n: key.n,
      visitor: answer.visitor,
      completion_id: answer.completionId,
      answer: answer.answer,
      state: answer.state,
      member_id: answer.memberId,
      session_id: answer.sessionId,
      recorded_session: answer.recordedSession,
      assigned_at: answer.assignedAt,
      held_stars: answer.heldStars,
    })
    .execute()
}

/** The answers to an open question, in the order in which they came; `answersMax` at most, since then it ends. */
export const listAnswers = async (tx: Tx, key: QuestionKey): Promise<QuestionAnswer[]> => {
  const rows = await tx
    .selectFrom('task_answers')
    .select([
      'visitor',
      'completion_id',
      'answer',
      'state',
      'member_id',
      'session_id',
      'recorded_session',
      'assigned_at',
      'held_stars',
    ])
    .where('agent_id', '=', key.agentId)
    .where('mode', '=', key.mode)
    .where('campaign_id', '=', key.campaignId)
    .where('n', '=', key.n)
    .orderBy('at')
    .orderBy('completion_id')
    .execute()
  return rows.map((row) => ({
    visitor: row.visitor,
    completionId: row.completion_id,
    answer: row.answer,
    state: row.state,
    memberId: row.member_id,
    sessionId: row.session_id,
    recordedSession: row.recorded_session,
    assignedAt: row.assigned_at,
    heldStars: row.held_stars,
  }))
}

/** A settled answer keeps no link to a person. */
export const updateAnswerEnded = async (
  tx: Tx,
  key: QuestionKey,
  visitor: string,
  isRight: boolean,
): Promise<void> => {
  await tx
    .updateTable('task_answers')
    .set({ state: isRight ? 'right' : 'wrong', held_stars: 0, member_id: null, recorded_session: null })
    .where('agent_id', '=', key.agentId)
    .where('mode', '=', key.mode)
    .where('campaign_id', '=', key.campaignId)
    .where('n', '=', key.n)
    .where('visitor', '=', visitor)
    .execute()
}

export const findVisitorAccuracy = async (
  tx: Tx,
  { agentId, mode, campaignId }: CampaignKey,
  visitor: string,
): Promise<VisitorAccuracy | undefined> => {
  const row = await tx
    .selectFrom('task_visitors')
    .select(['done', 'graded', 'correct', 'last_correct'])
    .where('agent_id', '=', agentId)
    .where('mode', '=', mode)
    .where('campaign_id', '=', campaignId)
    .where('visitor', '=', visitor)
    .executeTakeFirst()
  return row && { done: row.done, graded: row.graded, correct: row.correct, lastCorrect: row.last_correct }
}

/** Counts an item that a visitor did, and its grade where there is one; returns the standing after it. */
export const upsertVisitorAccuracy = async (
  tx: Tx,
  { agentId, mode, campaignId, visitor }: VisitorKey,
  item: { readonly done: 0 | 1; readonly correct: boolean | null; readonly isGenerated?: true },
): Promise<VisitorAccuracy> => {
  const graded = item.correct === null || item.isGenerated ? 0 : 1
  const correct = item.correct && !item.isGenerated ? 1 : 0
  const row = await tx
    .insertInto('task_visitors')
    .values({
      agent_id: agentId,
      mode,
      campaign_id: campaignId,
      visitor,
      done: item.done,
      graded,
      correct,
      last_correct: item.correct ?? false,
    })
    .onConflict((conflict) =>
      conflict.columns(['agent_id', 'mode', 'campaign_id', 'visitor']).doUpdateSet((set) => ({
        done: set('task_visitors.done', '+', item.done),
        graded: set('task_visitors.graded', '+', graded),
        correct: set('task_visitors.correct', '+', correct),
        last_correct: item.correct ?? set.ref('task_visitors.last_correct'),
        changed_at: now(),
      })),
    )
    .returning(['done', 'graded', 'correct', 'last_correct'])
    .executeTakeFirstOrThrow(
      () =>
        new Error(`visitor of campaign ${campaignId} of agent ${agentId} not found while counting an item`),
    )
  return { done: row.done, graded: row.graded, correct: row.correct, lastCorrect: row.last_correct }
}

export const updateCampaignExhausted = async (
  tx: Tx,
  { agentId, mode, campaignId }: CampaignKey,
): Promise<boolean> => {
  const result = await tx
    .updateTable('task_campaigns')
    .set({ status: 'paused', exhausted: true, changed_at: now() })
    .where('agent_id', '=', agentId)
    .where('mode', '=', mode)
    .where('campaign_id', '=', campaignId)
    .where('status', '=', 'active')
    .executeTakeFirst()
  return result.numUpdatedRows === 1n
}

type Member = { readonly agentId: string; readonly mode: Mode; readonly memberId: string }
/** Erasure: removes the member and the answer from completions, and the member from answers that wait. */
export const eraseCompletions = async (tx: Tx, member: Member): Promise<void> => {
  await tx
    .updateTable('task_completions')
    .set({ member_ref: null, answer: null })
    .where('agent_id', '=', member.agentId)
    .where('mode', '=', member.mode)
    .where('member_ref', '=', member.memberId)
    .execute()
  await tx
    .updateTable('task_answers')
    .set({ member_id: null })
    .where('agent_id', '=', member.agentId)
    .where('mode', '=', member.mode)
    .where('member_id', '=', member.memberId)
    .execute()
}
