import { isId, type Mode, type sessionKinds } from '@pohf/protocol'
import type { Ctx } from '../platform/ops/context.ts'
import type { ClientAddress } from '../platform/http/client-address.ts'
import { inTransaction, readNow, type Tx } from '../platform/db/db.ts'
import { Refusal } from '../platform/http/errors.ts'
import type { AgentId } from '../platform/ops/ids.ts'
import type { NoteAddress } from './recording/append.ts'
import { firstLinkOf, packKey, readKey, thumbprintOf, type PublicJwk } from './recording/chain.ts'
import { probeLanguageOf } from './recording/probes.ts'
import type { RenderProbe } from './recording/render.ts'
import { beginRecording, receiptOf } from './recording/state.ts'
import { sealSubjectKey } from './recording/records.ts'
import { noteBrowser, requireBrowserProof, type AdmitBrowser, type BrowserProof } from './browsers.ts'
import { hostnameOf, parseUserAgent, sessionMinutesOf } from './rules.ts'
import { insertRecording } from './recording/store.ts'

/** Injected by the wiring: mode and allowed origins of an agent; undefined when there is none. */
export type FindSite = (
  tx: Tx,
  agentId: string,
) => Promise<{ readonly mode: Mode; readonly allowedOrigins: readonly string[] } | undefined>

/** Injected by the wiring: the agent that a recording of work for this site belongs to. */
export type FindRecordingOwner = (
  tx: Tx,
  work: { readonly site: AgentId; readonly challenge: string },
) => Promise<AgentId>
/**
 * Injected by the wiring: the agent that the recording of a decision belongs to; undefined where no turn that waits for this
 * site has the challenge.
 */
export type FindDecisionOwner = (
  tx: Tx,
  turn: { readonly site: AgentId; readonly challenge: string },
) => Promise<AgentId | undefined>
export type SiteLookups = {
  readonly findSite: FindSite
  readonly findRecordingOwner: FindRecordingOwner
  readonly findDecisionOwner: FindDecisionOwner
  /** Of our own pages. */
  readonly ownOrigin: string
}

type Input = {
  readonly site: string
  readonly kind?: (typeof sessionKinds)[number] | undefined
  readonly workflowId?: string | undefined
  readonly challenge?: string | undefined
  readonly language?: string | undefined
  readonly words?: boolean | undefined
  readonly key: PublicJwk
  readonly browser?: BrowserProof | undefined
}

type CreateDeps = SiteLookups & {
  readonly noteAddress: NoteAddress
  readonly admitBrowser: AdmitBrowser
  readonly render: RenderProbe
}

type PageCall = {
  readonly origin: string | undefined
  readonly userAgent: string | undefined
  readonly address: ClientAddress
}

const requireOrigin = (allowed: readonly string[], origin: string | undefined): void => {
  if (allowed.length === 0 || (origin !== undefined && allowed.includes(origin))) return
  throw new Refusal('forbidden', {
    message:
      'Pages of this origin may not open sessions for this site: it is not in the allowed origins. Add it with PATCH /api/agents/me.',
  })
}

const requireKey = (key: PublicJwk): void => {
  if (readKey(key)) return
  throw new Refusal('validation_failed', {
    details: [{ path: 'body.key', code: 'key', message: 'must be a public key on P-256' }],
  })
}

type RecordingRequest = {
  readonly siteId: AgentId
  readonly kind: string
  readonly challenge?: string | undefined
}

/** A decision is recorded on our own page alone, with the challenge of a turn that waits. */
const findOwnerOfDecision = async (
  tx: Tx,
  { findDecisionOwner, ownOrigin }: SiteLookups,
  { siteId, challenge = '' }: RecordingRequest,
  page: PageCall,
) => {
  if (page.origin !== ownOrigin)
    throw new Refusal('forbidden', { message: 'Only the page of this service records decisions.' })
  const owner = await findDecisionOwner(tx, { site: siteId, challenge })
  if (!owner) throw new Refusal('not_found', { message: 'No decision with this challenge waits.' })
  return owner
}

/**
 * The agent that the session belongs to, and its mode. The owner of recorded work or of a recorded decision may be another agent
 * than the site.
 */
const findOwner = async (tx: Tx, deps: SiteLookups, recorded: RecordingRequest, page: PageCall) => {
  const { siteId, kind, challenge } = recorded
  const site = await deps.findSite(tx, siteId)
  if (!site) throw new Refusal('not_found', { message: 'No such site.' })
  const { mode } = site
  if (kind === 'approval') return { agentId: await findOwnerOfDecision(tx, deps, recorded, page), mode }
  requireOrigin(site.allowedOrigins, page.origin)
  const agentId =
    kind === 'work' && challenge !== undefined
      ? await deps.findRecordingOwner(tx, { site: siteId, challenge })
      : siteId
  return { agentId, mode }
}

/** Opens a session for a page of this site. */
export const create = async (ctx: Ctx, deps: CreateDeps, input: Input, page: PageCall) => {
  // Text that is not an id costs no read.
  if (!isId('agt_', input.site)) throw new Refusal('not_found', { message: 'No such site.' })
  requireKey(input.key)
  const jkt = thumbprintOf(input.key)
  const { browser } = input
  if (browser) requireBrowserProof(browser, input.site, jkt)
  const siteId = input.site as AgentId
  const kind = input.kind ?? 'view'
  const { challenge } = input
  // The owner of these may be the platform agent.
  const tenant = kind === 'work' || kind === 'approval' ? 'system' : siteId
  const { state, ...created } = await inTransaction(ctx, tenant, async (tx) => {
    const { agentId, mode } = await findOwner(tx, deps, { siteId, kind, challenge }, page)
    const at = await readNow(tx)
    const sessionId = ctx.ids.make('ses_')
    const nonce = ctx.ids.random()
    const action = { site: siteId, kind, workflowId: input.workflowId, challenge }
    const link = firstLinkOf({ sessionId, nonce, jkt }, action)
    const randomness = { token: ctx.ids.random(), draw: ctx.ids.randomFraction(), seed: ctx.ids.random() }
    // Only a view and a task ask a returning browser less. Work shows probes throughout, whoever does it, and a decision
    // shows one.
    const returning =
      browser !== undefined &&
      (kind === 'view' || kind === 'task') &&
      (await noteBrowser(
        tx,
        deps.admitBrowser,
        { agentId, mode, sessionId, at },
        { key: browser.key, address: page.address },
      ))
    const language = probeLanguageOf(input.language)
    const start = { kind, returning, words: input.words ?? false, language }
    const state = beginRecording(link, at.getTime(), start, randomness)
    const expiresAt = new Date(at.getTime() + sessionMinutesOf[kind] * 60_000)
    const publicKey = packKey(input.key)
    await insertRecording(tx, {
      recording: { agentId, sessionId, mode, kind, at, expiresAt, status: 'open', publicKey, state },
      workflowId: input.workflowId ?? null,
      challenge: challenge ?? null,
      hostname: hostnameOf(page.origin),
      jkt,
      opening: {
        nonce,
        x: input.key.x,
        y: input.key.y,
        client: parseUserAgent(page.userAgent),
        ...(agentId === siteId ? {} : { site: siteId }),
      },
      sealedKey: sealSubjectKey(ctx.secrets, ctx.ids.random()),
    })
    if (mode === 'live') await deps.noteAddress(tx, { sessionId, at, now: at }, page.address)
    return { sessionId, nonce, state, expiresAt: expiresAt.toISOString(), returning }
  })
  return { ...created, receipt: await receiptOf(deps.render, state) }
}
