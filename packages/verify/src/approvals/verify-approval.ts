import { isObject, type Assurance, type Claims } from '../claims.ts'
import { verifyCredential } from '../credential.ts'
import type { Policy, TableOptions } from '../policy.ts'
import type { Reason } from '../refusal.ts'
import { envelopeHash, type ActionType, type Envelope } from './envelope.ts'
import { canonicalJson, jsonFault, type Json } from './json.ts'
import { readEnvelope } from './read-envelope.ts'
import { approvalView, viewHash, viewName } from './view.ts'

/** Why an approval is refused although each credential in it is good. The list is closed. */
export const approvalReasons = [
  'envelope_malformed',
  'wrong_audience',
  'wrong_type',
  'wrong_action',
  'consume_by_past',
  'wrong_definition',
  'too_many_credentials',
  'wrong_envelope',
  'wrong_approval',
  'denied',
  'not_an_approver',
  'user_not_verified',
  'key_too_new',
  'decided_late',
  'unknown_view',
  'wrong_view',
  'same_approver',
  'same_person',
  'quorum_not_reached',
] as const
export type ApprovalReason = (typeof approvalReasons)[number] | Reason

/** What the executor requires. Approvers and quorum are its own: it never takes them from a credential or an envelope. */
export type ApprovalOptions = Pick<TableOptions, 'issuer' | 'jwks' | 'fetch' | 'clock'> & {
  /** As the service returned it, or as it was stored. It is checked, not trusted. */
  readonly envelope: unknown
  /** How the type was shown; null where it was not registered. With it the view hash is computed again. */
  readonly definition?: ActionType | null | undefined
  /** The agent that executes: you. */
  readonly audience: string
  readonly type: string
  /** What you are about to do. */
  readonly action: Json
  readonly approvers: readonly string[]
  readonly quorum: number
  readonly status: Policy['status']
  readonly minAssurance?: Assurance | undefined
  readonly minQuality?: number | undefined
  readonly allowTest?: boolean | undefined
  /** How long each passkey must have been registered. */
  readonly minKeyAgeSeconds?: number | undefined
}

export type ApprovalResult =
  | {
      readonly ok: true
      readonly approvalId: string
      readonly approvers: readonly string[]
      readonly envelopeHash: string
    }
  | { readonly ok: false; readonly reason: ApprovalReason; readonly message: string }

const credentialsMax = 10

class ApprovalRefusal extends Error {
  readonly reason: ApprovalReason
  constructor(reason: ApprovalReason, message: string) {
    super(message)
    this.reason = reason
  }
}
const refuse = (reason: ApprovalReason, message: string): never => {
  throw new ApprovalRefusal(reason, message)
}

const misuse = (message: string): never => {
  throw new TypeError(`@pohf/verify: ${message}`)
}

const requireCaller = (jwts: readonly string[], options: ApprovalOptions): void => {
  if (!Array.isArray(jwts)) return misuse('the credentials must be a list')
  if (typeof options !== 'object' || options === null) return misuse('options are missing')
  const { approvers, quorum, audience, type, action, minKeyAgeSeconds } = options
  if (!Array.isArray(approvers) || !approvers.every((each) => typeof each === 'string' && each !== ''))
    return misuse('approvers must be the ids of the people whom you accept')
  if (!Number.isSafeInteger(quorum) || quorum < 1 || quorum > new Set(approvers).size)
    return misuse('quorum must be from 1 to the number of approvers')
  if (typeof audience !== 'string' || audience === '') return misuse('audience must be your agent id')
  if (typeof type !== 'string' || type === '') return misuse('type must be the type of the action')
  if (!isObject(action) || jsonFault(action))
    return misuse(
      'action must be a JSON object that the service accepts: whole numbers, no character that can be mistaken',
    )
  if (minKeyAgeSeconds !== undefined && !(minKeyAgeSeconds >= 0))
    return misuse('minKeyAgeSeconds must be a number, or be left out')
}

type Context = {
  readonly options: ApprovalOptions
  readonly envelope: Envelope
  readonly hash: string
  /** Undefined where the caller has no definition. */
  readonly view: string | undefined
}

const openEnvelope = async (options: ApprovalOptions): Promise<Context> => {
  const envelope = readEnvelope(options.envelope)
  if (!envelope) return refuse('envelope_malformed', 'The envelope lacks a member or has an unknown one.')
  if (envelope.audience !== options.audience)
    return refuse('wrong_audience', 'The approval was given for another executor.')
  if (envelope.type !== options.type)
    return refuse('wrong_type', 'People were shown an action of another type.')
  if (canonicalJson(envelope.action) !== canonicalJson(options.action))
    return refuse('wrong_action', 'People were shown another action.')
  const now = (options.clock?.() ?? new Date()).getTime()
  if (now > Date.parse(envelope.consumeBy))
    return refuse('consume_by_past', `The approval could be used until ${envelope.consumeBy}.`)
  return {
    options,
    envelope,
    hash: await envelopeHash(envelope),
    view: await expectedView(options, envelope),
  }
}

const expectedView = async (
  { definition }: ApprovalOptions,
  envelope: Envelope,
): Promise<string | undefined> => {
  if (definition === undefined && envelope.typeVersion !== 0) return undefined
  try {
    return await viewHash(approvalView(envelope, definition ?? undefined))
  } catch {
    return refuse(
      'wrong_definition',
      'The definition is not the one of the type and version in the envelope.',
    )
  }
}

type Decision = {
  readonly approval: NonNullable<Claims['approval']>
  readonly approver: NonNullable<Claims['approver']>
  readonly sub: string
}

const readDecision = ({ approval, approver, sub }: Claims): Decision => {
  const isGood =
    isObject(approval) &&
    isObject(approver) &&
    [
      approval.id,
      approval.type,
      approval.envelope_hash,
      approval.view_hash,
      approval.view,
      approver.ref,
    ].every((text) => typeof text === 'string' && text !== '') &&
    typeof approver.user_verification === 'boolean' &&
    [approval.decided_at, approval.consume_by, approver.key_age].every(
      (seconds) => Number.isSafeInteger(seconds) && seconds >= 0,
    )
  if (!isGood)
    return refuse('claims_malformed', 'The claim approval or approver is missing or has another form.')
  return { approval, approver, sub }
}

type DecisionCheck = (decision: Decision, context: Context) => void
/** In this order, so that the reason is that of the gravest fault: another approval, a denial, another person. */
const decisionChecks: readonly DecisionCheck[] = [
  ({ approval }, { hash }) => {
    if (approval.envelope_hash !== hash)
      refuse('wrong_envelope', 'A credential is for another envelope than the one given.')
  },
  ({ approval }, { envelope }) => {
    if (approval.type !== envelope.type) refuse('wrong_type', 'A credential names another type of action.')
  },
  ({ approval, approver }) => {
    if (approval.decision !== 'approve') refuse('denied', `${approver.ref} denied the action.`)
  },
  ({ approver }, { options, envelope }) => {
    if (!options.approvers.includes(approver.ref))
      refuse('not_an_approver', `${approver.ref} is none of the people whom you accept.`)
    if (!envelope.approvers.includes(approver.ref))
      refuse('not_an_approver', `${approver.ref} was not asked.`)
  },
  ({ approver }) => {
    if (!approver.user_verification)
      refuse('user_not_verified', `The passkey of ${approver.ref} did not check who used it.`)
  },
  ({ approver }, { options }) => {
    if (approver.key_age < (options.minKeyAgeSeconds ?? 0))
      refuse('key_too_new', `The passkey of ${approver.ref} was registered ${approver.key_age} s before.`)
  },
  ({ approval }, { envelope }) => {
    if (approval.decided_at * 1_000 > Date.parse(envelope.decideBy))
      refuse('decided_late', 'A decision was made after the time to decide.')
  },
  ({ approval }, { options }) => {
    if ((options.clock?.() ?? new Date()).getTime() > approval.consume_by * 1_000 + 999)
      refuse('consume_by_past', 'The time in which the approval could be used is over.')
  },
  ({ approval }) => {
    if (approval.view !== viewName)
      refuse('unknown_view', `The view ${approval.view.slice(0, 32)} is unknown.`)
  },
  ({ approval, approver }, { view }) => {
    if (view !== undefined && approval.view_hash !== view)
      refuse('wrong_view', `${approver.ref} was shown something else.`)
  },
]

const checkTogether = (decisions: readonly Decision[], { options, envelope }: Context): void => {
  const differing = (valueOf: (decision: Decision) => string): number => new Set(decisions.map(valueOf)).size
  if (differing(({ approval }) => approval.id) > 1)
    refuse('wrong_approval', 'The credentials are of different approvals.')
  if (differing(({ approval }) => approval.view_hash) > 1)
    refuse('wrong_view', 'The approvers were not shown the same.')
  if (differing(({ approver }) => approver.ref) < decisions.length)
    refuse('same_approver', 'Two of the credentials are of one approver.')
  if (differing(({ sub }) => sub) < decisions.length)
    refuse('same_person', 'Two of the approvers are one person.')
  const quorum = Math.max(options.quorum, envelope.policy.quorum)
  if (decisions.length < quorum)
    refuse('quorum_not_reached', `${decisions.length} approved; wanted: ${quorum}.`)
}

/**
 * Whether people whom you accept approved exactly this action for you. A bad approval is a result; only a bad call throws
 * (TypeError). It says nothing about use: consume the approval at the service before you act, which works once.
 */
export const verifyApproval = async (
  jwts: readonly string[],
  options: ApprovalOptions,
): Promise<ApprovalResult> => {
  requireCaller(jwts, options)
  const { issuer, jwks, fetch, clock } = options
  const policy: Policy = {
    kinds: ['approval'],
    minAssurance: options.minAssurance ?? 'low',
    minQuality: options.minQuality ?? 0,
    status: options.status,
    allowTest: options.allowTest,
  }
  try {
    if (jwts.length > credentialsMax)
      return refuse('too_many_credentials', `An approval has at most ${credentialsMax} credentials.`)
    const context = await openEnvelope(options)
    const decisions: Decision[] = []
    for (const jwt of jwts) {
      const verified = await verifyCredential(jwt, { issuer, jwks, fetch, clock, policy })
      if (!verified.ok) return refuse(verified.reason, verified.message)
      const decision = readDecision(verified.claims)
      for (const check of decisionChecks) check(decision, context)
      decisions.push(decision)
    }
    checkTogether(decisions, context)
    const [first] = decisions
    if (!first) return refuse('quorum_not_reached', 'Nobody approved.')
    return {
      ok: true,
      approvalId: first.approval.id,
      approvers: decisions.map(({ approver }) => approver.ref),
      envelopeHash: context.hash,
    }
  } catch (error) {
    if (!(error instanceof ApprovalRefusal)) throw error
    return { ok: false, reason: error.reason, message: error.message }
  }
}
