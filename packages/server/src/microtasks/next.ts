import { isId, type Mode } from '@pohf/protocol'
import type { Ctx } from '../platform/ops/context.ts'
import type { ClientAddress } from '../platform/http/client-address.ts'
import { inTransaction, readNow, type Tx } from '../platform/db/db.ts'
import { balanceOf } from '../ledger/index.ts'
import type { AgentId } from '../platform/ops/ids.ts'
import {
  chooseGenerated,
  generatedItems,
  promptOf,
  sampleTask,
  sampleToken,
  seedOf,
  type GeneratedId,
  type TaskLanguage,
} from './items/generated.ts'
import type { RenderTaskPicture } from './items/pictures.ts'
import { budgetAccountOf, chooseQuestion, newVisitor, slotOf, visitorOf } from './rules.ts'
import { taskIdOf } from './settle.ts'
import { findVisitorAccuracy, listActiveCampaigns, listCandidates, type ServedCampaign } from './store.ts'
import { makeTaskToken, readVisitorToken, tokenMinutes, type TaskPlace } from './token.ts'

/** Provided by the wiring. */
export type NextDeps = {
  /** The mode of an agent, undefined where it does not exist. */
  readonly findMode: (tx: Tx, agentId: string) => Promise<Mode | undefined>
  /** A tag of the network of an address. */
  readonly networkTagOf: (address: ClientAddress) => string
  readonly renderPicture: RenderTaskPicture
}
type Query = {
  readonly site?: string | undefined
  readonly visitor?: string | undefined
  readonly words?: '0' | '1' | undefined
  readonly lang?: string | undefined
}

const expiryOf = (at: Date): Date => new Date(at.getTime() + tokenMinutes * 60_000)
/** How long people take for an item. */
const secondsOf = { picture: 15, words: 20, question: 10 } as const
/** What a test site shows as the reward of an item that no campaign pays. */
const sandboxRewardStars = 1

type Item = {
  readonly taskId: string
  readonly place: TaskPlace | undefined
  /** Undefined for an item that the service makes. */
  readonly question?: { readonly prompt: string; readonly options: readonly string[] }
  /** Of an item that the service makes. */
  readonly seed?: string
  readonly rewardStars: number
}
type Site = { readonly agentId: AgentId; readonly mode: Mode; readonly now: Date }

/** The key that chooses and makes items, and the one of the visitors’ pseudonyms. */
type Keys = { readonly items: Buffer; readonly pseudonym: Buffer }

/** Where the visitor stands in a campaign, and what comes next; undefined where nothing does. */
const findItemOf = async (
  tx: Tx,
  keys: Keys,
  campaign: ServedCampaign,
  who: { readonly memberId: string | undefined; readonly network: string; readonly usesWords: boolean },
): Promise<Item | undefined> => {
  const { agentId, mode, campaignId, rewardStars } = campaign
  const account = { agentId, mode, account: budgetAccountOf(campaignId), unit: 'star' } as const
  if (rewardStars > 0 && (await balanceOf(tx, account)) < BigInt(rewardStars)) return undefined
  const day = (await readNow(tx)).toISOString().slice(0, 10)
  const named = who.memberId === undefined ? { network: who.network, day } : { memberId: who.memberId }
  const visitor = visitorOf(keys.pseudonym, campaignId, named)
  const standing = (await findVisitorAccuracy(tx, campaign, visitor)) ?? newVisitor
  const open = await listCandidates(tx, { ...campaign, visitor }, 'open')
  if (open.length === 0) return undefined
  const slot = slotOf(keys.items, { visitor, campaignId }, standing)
  const known = slot === 'known' ? await listCandidates(tx, { ...campaign, visitor }, 'known') : []
  const question = chooseQuestion(keys.items, { visitor, campaignId }, slot === 'open' ? open : known)
  const memberId = who.memberId ?? null
  const reward = memberId === null ? 0 : rewardStars
  const place = { campaignId, n: question?.n ?? 0, visitor, done: standing.done, memberId }
  if (question) return { taskId: taskIdOf(place), place, question, rewardStars: reward }
  // The seed depends only on visitor and position, so that fetching again gives the same picture.
  const seed = seedOf(keys.items, JSON.stringify([visitor, campaignId, standing.done]))
  return { taskId: chooseGenerated(seed, who.usesWords), place, seed, rewardStars: 0 }
}

const presentGenerated = async (
  deps: NextDeps,
  id: GeneratedId,
  { seed, language }: { readonly seed: string; readonly language: TaskLanguage },
) => ({
  kind: generatedItems[id].kind,
  prompt: promptOf(id, seed, language),
  ...(generatedItems[id].isPicture
    ? {
        media: [await deps.renderPicture({ seed, asksOpen: id === 'tsk_open_rings' })],
        estSeconds: secondsOf.picture,
      }
    : { estSeconds: secondsOf.words }),
})

/** The sample task, for a caller without a known site. */
const presentSample = (ctx: Ctx) => ({
  task: {
    ...sampleTask,
    options: [...sampleTask.options],
    token: sampleToken,
    expiresAt: expiryOf(ctx.clock.now()).toISOString(),
  },
})

/** An item of a campaign of the site, or one that the service makes. */
const findItem = async (
  tx: Tx,
  ctx: Ctx,
  site: Site,
  who: { readonly query: Query; readonly network: string; readonly nonce: string },
): Promise<Item> => {
  const [items] = ctx.secrets.accepted('task-token')
  const keys = { items, pseudonym: ctx.secrets.derive('task-pseudonym') }
  const { query, network, nonce } = who
  const usesWords = query.words === '1'
  const memberId = query.visitor === undefined ? undefined : readVisitorToken(ctx, query.visitor, site)
  for (const campaign of await listActiveCampaigns(tx, site)) {
    const item = await findItemOf(tx, keys, campaign, { memberId, network, usesWords })
    if (item) return item
  }
  const seed = seedOf(items, nonce)
  const rewardStars = site.mode === 'test' ? sandboxRewardStars : 0
  return { taskId: chooseGenerated(seed, usesWords), place: undefined, seed, rewardStars }
}

/** A task for a visitor of the site, or the sample task where the site is not registered. */
export const tasksNext = async (ctx: Ctx, query: Query, address: ClientAddress, deps: NextDeps) => {
  const { site } = query
  // A malformed id costs no database read.
  if (site === undefined || !isId('agt_', site)) return presentSample(ctx)
  const agentId = site as AgentId
  const nonce = ctx.ids.random()
  const found = await inTransaction(ctx, agentId, async (tx) => {
    const mode = await deps.findMode(tx, agentId)
    if (!mode) return undefined
    const now = await readNow(tx)
    const who = { query, network: deps.networkTagOf(address), nonce }
    return { mode, now, item: await findItem(tx, ctx, { agentId, mode, now }, who) }
  })
  if (!found) return presentSample(ctx)
  const { mode, now, item } = found
  const { taskId, place, question, seed = '', rewardStars } = item
  const language: TaskLanguage = query.lang?.slice(0, 2).toLowerCase() === 'de' ? 'de' : 'en'
  const expiresAt = expiryOf(now)
  const presented = question
    ? {
        kind: 'question',
        prompt: question.prompt,
        options: [...question.options],
        estSeconds: secondsOf.question,
      }
    : await presentGenerated(deps, taskId as GeneratedId, { seed, language })
  const grant = { agentId, mode, taskId, nonce, expiresAt, language, ...(place ? { place } : {}) }
  return {
    task: {
      id: taskId,
      ...presented,
      rewardStars,
      token: makeTaskToken(ctx, grant),
      expiresAt: expiresAt.toISOString(),
      ...(place ? { campaignId: place.campaignId } : {}),
    },
  }
}
