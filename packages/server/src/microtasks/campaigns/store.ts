import { sql } from 'kysely'
import type { CampaignState, Mode } from '@pohf/protocol'
import { now, type Tx } from '../../platform/db/db.ts'
import type { PageScan } from '../../platform/http/list-page.ts'
import type { CampaignKey } from '../store.ts'

export type Campaign = CampaignKey & {
  readonly name: string
  readonly status: CampaignState
  readonly exhausted: boolean
  readonly rewardStars: number
  readonly agreement: number
  readonly budgetStars: bigint
  readonly createdAt: Date
  readonly changedAt: Date
  /** How its questions and their answers stand. */
  readonly counts: {
    readonly total: number
    readonly known: number
    readonly open: number
    readonly agreed: number
    readonly disagreed: number
    readonly answers: number
    readonly right: number
  }
}
type Row = {
  readonly agent_id: string
  readonly mode: Mode
  readonly campaign_id: string
  readonly name: string
  readonly status: CampaignState
  readonly exhausted: boolean
  readonly reward_stars: number
  readonly agreement: number
  readonly budget_stars: bigint
  readonly created_at: Date
  readonly changed_at: Date
  readonly counts: Campaign['counts']
}
const campaignOf = (row: Row): Campaign => ({
  agentId: row.agent_id,
  mode: row.mode,
  campaignId: row.campaign_id,
  name: row.name,
  status: row.status,
  exhausted: row.exhausted,
  rewardStars: row.reward_stars,
  agreement: row.agreement,
  budgetStars: row.budget_stars,
  createdAt: row.created_at,
  changedAt: row.changed_at,
  counts: row.counts,
})

const columns = sql`c.agent_id, c.mode, c.campaign_id, c.name, c.status, c.exhausted, c.reward_stars, c.agreement,
  c.budget_stars, c.created_at, c.changed_at, counted.counts`
/** At most 500 questions of a campaign. */
const counted = sql`lateral (
  select json_build_object(
    'total', count(*), 'known', count(*) filter (where q.known_answer is not null),
    'open', count(*) filter (where q.known_answer is null and q.state = 'open'),
    'agreed', count(*) filter (where q.state = 'agreed'), 'disagreed', count(*) filter (where q.state = 'disagreed'),
    'answers', coalesce(sum(q.answers), 0), 'right', coalesce(sum(q.right_answers), 0)) as counts
  from task_questions q
  where q.agent_id = c.agent_id and q.mode = c.mode and q.campaign_id = c.campaign_id) counted`

export const findCampaign = async (tx: Tx, key: CampaignKey): Promise<Campaign | undefined> => {
  const { rows } = await sql<Row>`
    select ${columns} from task_campaigns c, ${counted}
    where c.agent_id = ${key.agentId} and c.mode = ${key.mode} and c.campaign_id = ${key.campaignId}`.execute(
    tx,
  )
  return rows[0] && campaignOf(rows[0])
}

/** Campaigns of an agent, newest first. */
export const listCampaigns = async (tx: Tx, mode: Mode, scan: PageScan): Promise<Campaign[]> => {
  const { rows } = await sql<Row>`
    select ${columns} from (
      select c.* from task_campaigns c
      where c.agent_id = ${scan.agentId} and c.mode = ${mode} and (${scan.before?.id ?? null}::text is null or c.campaign_id < ${scan.before?.id ?? null}::text)
      order by c.campaign_id desc limit ${scan.rowsMax}) c, ${counted}
    order by c.campaign_id desc`.execute(tx)
  return rows.map(campaignOf)
}

/** How many campaigns the count reads. An open campaign that is older than these is not counted. */
const newestCampaigns = 1_000
/** How many of the newest campaigns of an agent have not ended; the count stops at `max`. Serializes concurrent counts. */
export const countOpenCampaigns = async (
  tx: Tx,
  { agentId, mode }: Pick<CampaignKey, 'agentId' | 'mode'>,
  max: number,
): Promise<number> => {
  await sql`select pg_advisory_xact_lock(hashtextextended(${`task_campaigns ${agentId} ${mode}`}, 0))`.execute(
    tx,
  )
  const { rows } = await sql<{ count: number }>`
    select count(*)::int as count from (
      select from (
        select status from task_campaigns where agent_id = ${agentId} and mode = ${mode}
        order by campaign_id desc limit ${newestCampaigns}) newest
      where status <> 'ended' limit ${max}) first`.execute(tx)
  return rows[0]?.count ?? 0
}

type NewCampaign = CampaignKey & Pick<Campaign, 'name' | 'rewardStars' | 'agreement' | 'budgetStars'>
type NewQuestion = {
  readonly prompt: string
  readonly options: readonly string[]
  readonly answer?: string | undefined
}
export const insertCampaign = async (
  tx: Tx,
  campaign: NewCampaign,
  questions: readonly NewQuestion[],
): Promise<void> => {
  const { agentId, mode, campaignId } = campaign
  await tx
    .insertInto('task_campaigns')
    .values({
      agent_id: agentId,
      mode,
      campaign_id: campaignId,
      name: campaign.name,
      reward_stars: campaign.rewardStars,
      agreement: campaign.agreement,
      budget_stars: campaign.budgetStars,
    })
    .execute()
  await tx
    .insertInto('task_questions')
    .values(
      questions.map(({ prompt, options, answer }, index) => ({
        agent_id: agentId,
        mode,
        campaign_id: campaignId,
        n: index + 1,
        prompt,
        options: [...options],
        known_answer: answer ?? null,
      })),
    )
    .execute()
}

/** Locks a campaign and returns its state. */
export const lockCampaign = async (tx: Tx, key: CampaignKey): Promise<CampaignState | undefined> => {
  const row = await tx
    .selectFrom('task_campaigns')
    .select('status')
    .where('agent_id', '=', key.agentId)
    .where('mode', '=', key.mode)
    .where('campaign_id', '=', key.campaignId)
    .forNoKeyUpdate()
    .executeTakeFirst()
  return row?.status
}

export const updateCampaignStatus = async (
  tx: Tx,
  key: CampaignKey,
  status: CampaignState,
): Promise<void> => {
  await tx
    .updateTable('task_campaigns')
    .set({ status, exhausted: false, changed_at: now() })
    .where('agent_id', '=', key.agentId)
    .where('mode', '=', key.mode)
    .where('campaign_id', '=', key.campaignId)
    .execute()
}

export type QuestionResult = {
  readonly n: number
  readonly prompt: string
  readonly options: readonly string[]
  readonly knownAnswer: string | null
  readonly state: 'open' | 'agreed' | 'disagreed'
  readonly agreedAnswer: string | null
  /** Answers by option. */
  readonly given: Readonly<Record<string, number>>
}
/** Questions of a campaign from a number on, with their answers: at most fifteen each for open ones. */
export const listQuestions = async (
  tx: Tx,
  key: CampaignKey,
  page: { readonly after: number; readonly limit: number },
): Promise<QuestionResult[]> => {
  const { rows } = await sql<QuestionResult>`
    select q.n, q.prompt, q.options, q.known_answer as "knownAnswer", q.state, q.agreed_answer as "agreedAnswer", g.given
    from (
      select * from task_questions
      where agent_id = ${key.agentId} and mode = ${key.mode} and campaign_id = ${key.campaignId} and n > ${page.after}
      order by n limit ${page.limit}) q,
    lateral (
      select coalesce(json_object_agg(a.answer, a.count), '{}') as given from (
        select first.answer, count(*)::int as count from (
          select answer from task_answers
          where agent_id = q.agent_id and mode = q.mode and campaign_id = q.campaign_id and n = q.n limit 1000) first
        group by first.answer) a) g
    order by q.n`.execute(tx)
  return rows
}
