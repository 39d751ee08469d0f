import type { Mode } from '@pohf/protocol'
import type { AgentId } from '../platform/ops/ids.ts'
import { readSignedToken, signToken, type SigningCtx } from '../platform/ops/tokens.ts'
import type { TaskLanguage } from './items/generated.ts'

/** The place in a campaign that a task was given for. */
export type TaskPlace = {
  readonly campaignId: string
  /** The number of the question; 0 for an item that the service made. */
  readonly n: number
  readonly visitor: string
  /** How many items of the campaign the visitor had done. */
  readonly done: number
  readonly memberId: string | null
}
/** The content of a task token. */
export type TaskGrant = {
  readonly agentId: AgentId
  readonly mode: Mode
  readonly taskId: string
  readonly nonce: string
  readonly expiresAt: Date
  readonly language?: TaskLanguage
  readonly place?: TaskPlace
}

/** How long a token is valid. */
export const tokenMinutes = 10
/** How long a page may name a member as its visitor. */
export const visitorMinutes = 60

const signerOf = ({ secrets, ids }: SigningCtx) => ({ keys: secrets.accepted('task-token'), cell: ids.cell })
const visitorSignerOf = ({ secrets, ids }: SigningCtx) => ({
  keys: secrets.accepted('task-visitor'),
  cell: ids.cell,
})

/** Issuing a token stores nothing. */
export const makeTaskToken = (ctx: SigningCtx, grant: TaskGrant): string => {
  const { agentId, mode, taskId, nonce, expiresAt, language, place } = grant
  return signToken(signerOf(ctx), 'tkt_', [
    agentId,
    mode,
    taskId,
    nonce,
    expiresAt.getTime(),
    ...(language === undefined && !place ? [] : [language ?? 'en']),
    ...(place ? [place.campaignId, place.n, place.visitor, place.done, place.memberId ?? ''] : []),
  ])
}

/** The content of an authentic token, expired or not; undefined for anything else. */
export const readTaskToken = (ctx: SigningCtx, token: string): TaskGrant | undefined => {
  const fields = readSignedToken(signerOf(ctx), 'tkt_', token)
  if (!fields) return undefined
  type Fields = [TaskGrant['agentId'], Mode, string, string, number, TaskLanguage?]
  type PlaceFields = [string?, number?, string?, number?, string?]
  const [agentId, mode, taskId, nonce, expiresAt, language] = fields as Fields
  const [campaignId, n, visitor, done, memberId] = fields.slice(6) as PlaceFields
  const base = { agentId, mode, taskId, nonce, expiresAt: new Date(expiresAt) }
  if (campaignId === undefined || n === undefined || visitor === undefined || done === undefined)
    return language === undefined ? base : { ...base, language }
  const place = { campaignId, n, visitor, done, memberId: memberId || null }
  return { ...base, language: language ?? 'en', place }
}

type Visitor = {
  readonly agentId: string
  readonly mode: Mode
  readonly memberId: string
  readonly expiresAt: Date
}
/** An agent names its member as the visitor of its page. */
export const makeVisitorToken = (ctx: SigningCtx, visitor: Visitor): string =>
  signToken(visitorSignerOf(ctx), 'tvs_', [
    visitor.agentId,
    visitor.mode,
    visitor.memberId,
    visitor.expiresAt.getTime(),
  ])

/** The member that a token names for this site; undefined for a token of another site, an old one or another text. */
export const readVisitorToken = (
  ctx: SigningCtx,
  token: string,
  site: { readonly agentId: string; readonly mode: Mode; readonly now: Date },
): string | undefined => {
  const [agentId, mode, memberId, expiresAt] = readSignedToken(visitorSignerOf(ctx), 'tvs_', token) ?? []
  const isOfSite = agentId === site.agentId && mode === site.mode
  if (!isOfSite || typeof memberId !== 'string' || typeof expiresAt !== 'number') return undefined
  return expiresAt > site.now.getTime() ? memberId : undefined
}
