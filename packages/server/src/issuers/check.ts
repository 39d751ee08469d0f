import { createHash } from 'node:crypto'
import { z } from 'zod'
import type { IssuerRule } from '@pohf/protocol'
import { inTransaction, type Tx } from '../platform/db/db.ts'
import { Refusal } from '../platform/http/errors.ts'
import type { Ctx } from '../platform/ops/context.ts'
import { openUnder, sealUnder } from '../platform/ops/secrets.ts'
import { listSuspendedFrom } from '../roots/index.ts'
import type { Issuers } from './issuers.ts'
import { assertShown, type OutsideIssuer, type Refused, type Shown, type Subject } from './port.ts'
import { adapterMsMax, humanHashOf, requestMinutes, signalOf, stateBytesMax, stateHashOf } from './rules.ts'
import { findRequest, findUserByCode, insertRequest, lockHuman, updateRequestUsed } from './store.ts'

export type CheckDeps = { readonly ctx: Ctx; readonly issuers: Issuers }

/** Whom a check is about, as the caller knows it. */
type CheckSubject = {
  readonly personId: string | null
  readonly sessionId: string | null
  readonly jkt: string | null
  /** What the person does, in words that the caller compares at the end. */
  readonly act: readonly string[]
  readonly origin: string
}
/** A proof as it is stored: by the caller, in its own transaction. */
export type CheckedProof = {
  readonly issuer: OutsideIssuer
  /** The keyed hash of the human; random where the issuer counts nobody. */
  readonly codeHash: Buffer
  readonly shown: Shown
}

const words: Readonly<Record<IssuerRule, string>> = {
  denied: 'the issuer says that the person refused, or may not use it',
  expired: 'the answer is too old, or the sign-in was before the check began',
  state_unknown: 'the check was not begun here',
  state_used: 'the check was finished before',
  wrong_person: 'the check was begun by another person',
  wrong_session: 'the check was begun for another session or act',
  wrong_origin: 'the check was begun on a page of another origin',
  wrong_state: 'the answer belongs to another check',
  wrong_nonce: 'what the issuer signed is about another check',
  not_trusted:
    'the answer is from another issuer or tenant, for another service, or of a sign-in that is not admitted',
  claim_missing: 'the issuer left out what the check needs',
  signature: 'the signature of the issuer is not valid',
  code_refused: 'the issuer refused the code of the sign-in',
  withdrawn: 'the issuer has withdrawn this person',
  suspended: 'the issuer is suspended on this service',
  erased: 'this human was erased here and can be counted again later',
}

/** Refuses a human whom the directory of the issuer has removed; in the transaction that stores the proof. */
export const requirePresent = async (tx: Tx, { issuer, codeHash }: CheckedProof): Promise<void> => {
  await lockHuman(tx, issuer.name, codeHash)
  const known = await findUserByCode(tx, issuer.name, codeHash)
  if (known && known.state !== 'active') throw refusalOf('withdrawn')
}

export const refusalOf = (rule: Refused['rule']): Refusal =>
  rule === 'unavailable'
    ? new Refusal('issuer_unavailable', { headers: { 'retry-after': '5' } })
    : new Refusal('proof_refused', { details: [{ path: 'body', code: rule, message: words[rule] }] })

/** Runs a step of an adapter with a limit: it calls a network that is not ours. */
const inTime = async <T>(work: (signal: AbortSignal) => Promise<T>): Promise<T> => {
  const limit = new AbortController()
  const timer = setTimeout(
    () => limit.abort(new DOMException(`no answer within ${adapterMsMax} ms`, 'TimeoutError')),
    adapterMsMax,
  )
  try {
    return await work(limit.signal)
  } finally {
    clearTimeout(timer)
  }
}

const actOf = (act: readonly string[]): string =>
  createHash('sha256').update(act.join('\0')).digest('base64url')

/** Whether nothing may rest on what this issuer shows now. */
const isSuspended = async (tx: Tx, { kind, name }: OutsideIssuer): Promise<boolean> =>
  (await listSuspendedFrom(tx, [{ kind, name }])).length > 0

const requireIssuer = async (
  tx: Tx,
  { issuers }: CheckDeps,
  name: string,
  agentId: string | undefined,
): Promise<OutsideIssuer> => {
  const issuer = await issuers.find(tx, name, agentId)
  if (!issuer) throw new Refusal('not_found', { message: 'This issuer is not configured for this agent.' })
  if (await isSuspended(tx, issuer)) throw refusalOf('suspended')
  return issuer
}

const sealedState = z.strictObject({
  issuer: z.string(),
  agentId: z.string().nullable(),
  subject: z.strictObject({
    personId: z.string().nullable(),
    sessionId: z.string().nullable(),
    act: z.string(),
    jkt: z.string().nullable(),
    signal: z.string(),
    origin: z.string(),
    handle: z.string(),
  }),
  own: z.unknown(),
})

type Begin = CheckSubject & { readonly issuer: string; readonly agentId: string | undefined }

/** Begins a check. What comes back is bound to the subject, works once, and for ten minutes. */
export const beginCheck = async (deps: CheckDeps, { issuer: name, agentId, act, ...who }: Begin) => {
  const { ctx } = deps
  const issuer = await inTransaction(ctx, 'system', (tx) => requireIssuer(tx, deps, name, agentId))
  const subjectName = who.personId ?? `session ${agentId ?? ''} ${who.sessionId ?? ''}`
  const subject: Subject = {
    ...who,
    act: actOf(act),
    signal: signalOf(ctx.secrets.accepted('external')[0], subjectName),
    handle: ctx.ids.random(),
  }
  const begun = await inTime((signal) => issuer.begin(subject, signal))
  if ('ok' in begun) throw refusalOf(begun.rule)
  const state = sealUnder(
    ctx.secrets.accepted('issuer-state')[0],
    JSON.stringify({ issuer: name, agentId: agentId ?? null, subject, own: begun.state }),
  )
  if (state.length > stateBytesMax)
    throw new Error(
      `the state of issuer ${name} for agent ${agentId} has ${state.length} bytes, ${stateBytesMax} are the most`,
    )
  const expiresAt = await inTransaction(ctx, 'system', (tx) =>
    insertRequest(tx, {
      stateHash: stateHashOf(subject.handle),
      issuer: name,
      personId: who.personId,
      sessionId: who.sessionId,
      origin: who.origin,
      minutes: requestMinutes,
    }),
  )
  return { request: begun.request, state, expiresAt: expiresAt.toISOString() }
}

const readState = ({ ctx }: CheckDeps, sealed: string): z.infer<typeof sealedState> => {
  const plain = openUnder(ctx.secrets.accepted('issuer-state'), sealed)
  if (plain === undefined) throw refusalOf('state_unknown')
  return sealedState.parse(JSON.parse(plain))
}

/** Whether the check was begun by and for what finishes it. */
const subjectFault = (
  subject: Omit<Subject, 'signal' | 'handle'>,
  who: CheckSubject,
): IssuerRule | undefined => {
  if (subject.origin !== who.origin) return 'wrong_origin'
  if (subject.personId !== who.personId) return 'wrong_person'
  const isSame =
    subject.sessionId === who.sessionId && subject.jkt === who.jkt && subject.act === actOf(who.act)
  return isSame ? undefined : 'wrong_session'
}

type Finish = CheckSubject & { readonly state: string; readonly answer: unknown }

/**
 * Finishes a check: opens the state, marks it as used, and only then lets the issuer judge the answer. Nothing of it is in a
 * transaction of the caller, who stores the proof.
 */
export const finishCheck = async (
  deps: CheckDeps,
  { state, answer, ...who }: Finish,
): Promise<CheckedProof> => {
  const { ctx } = deps
  const { issuer: name, agentId, subject, own } = readState(deps, state)
  const fault = subjectFault(subject, who)
  if (fault) throw refusalOf(fault)
  const stateHash = stateHashOf(subject.handle)
  const issuer = await inTransaction(ctx, 'system', async (tx) => {
    if (!(await updateRequestUsed(tx, stateHash))) {
      const known = await findRequest(tx, stateHash)
      if (!known) throw refusalOf('state_unknown')
      throw refusalOf(known.used_at === null ? 'expired' : 'state_used')
    }
    return requireIssuer(tx, deps, name, agentId ?? undefined)
  })
  const shown = await inTime((signal) => issuer.finish({ subject, state: own, answer }, signal))
  if (!shown.ok) throw refusalOf(shown.rule)
  assertShown(issuer, shown)
  const code = shown.human ?? ctx.ids.random()
  return { issuer, codeHash: humanHashOf(ctx.secrets.derive('external-codes'), code), shown }
}
