import { Answer } from '../../platform/http/call.ts'
import type { Ctx } from '../../platform/ops/context.ts'
import { inTransaction, type Tx } from '../../platform/db/db.ts'
import { Refusal } from '../../platform/http/errors.ts'
import type { Erasure, Worked } from '../people/erase-person.ts'
import type { ExternalIssuer } from '../people/external.ts'
import { requireInvited } from './invitation.ts'
import {
  findSignedIn,
  requireOwnPage,
  requirePerson,
  requireSignedIn,
  signPersonIn,
  type FromPage,
} from '../people/login.ts'
import { boundToOf } from '../people/passkey-options.ts'
import { challengeIn, type Passkey, type PasskeyJudge } from '../people/passkeys.ts'
import { makeRecoveryCodes } from '../people/recovery-codes.ts'
import { attentionChallenge, bestOf, consentVersion, originOf, uniquenessOf } from '../rules.ts'
import {
  insertConsent,
  insertPasskey,
  insertPerson,
  listMemberships,
  listPasskeys,
  listProofs,
  takeChallenge,
  updateMemberConsented,
  updateStanding,
  type MemberKey,
  type MemberRow,
} from '../store.ts'

export type MembersDeps = {
  readonly ctx: Ctx
  readonly judge: PasskeyJudge
  /** Handed down by app.ts: what an agent calls itself, undefined where it may not act. */
  readonly findName: (tx: Tx, agentId: string) => Promise<string | undefined>
  readonly issuers: readonly ExternalIssuer[]
  /** Handed down by app.ts: what the modules above hold of a member, for the person's file. */
  readonly tell: (tx: Tx, member: MemberKey) => Promise<object>
  /** Handed down by app.ts: what the modules above delete of a member. */
  readonly forget: Erasure['forget']
  /** Handed down by app.ts: what a person did for buyers of work. */
  readonly worked: Worked
}
type Input = {
  readonly token: string
  readonly consentVersion: string
  readonly language: 'en' | 'de'
  readonly credential?: unknown
}

/** Who was shown other words has agreed to something else. */
const requireVersion = (version: string): void => {
  if (version === consentVersion) return
  throw new Refusal('validation_failed', {
    details: [{ path: 'body.consentVersion', code: 'outdated', message: 'load the page again and read it' }],
  })
}

/** The new passkey, checked outside any transaction; its challenge is used up whatever comes of it. */
export const judgeNew = async (
  { ctx, judge }: MembersDeps,
  credential: unknown,
  boundTo: string,
): Promise<Passkey> => {
  const challenge = challengeIn(credential)
  const taken =
    challenge !== undefined &&
    (await inTransaction(ctx, 'system', (tx) => takeChallenge(tx, { challenge, purpose: 'create', boundTo })))
  const passkey = taken ? await judge.created(credential, { challenge, ...originOf(ctx.config) }) : undefined
  if (!passkey) throw new Refusal('passkey_refused')
  return passkey
}

/** Tells every agent that knows the person what its passkeys are worth now. */
export const refreshStanding = async (tx: Tx, personId: string): Promise<void> => {
  const worth = (await listPasskeys(tx, personId)).map(({ assurance }) => assurance)
  const issuers = (await listProofs(tx, personId)).map(({ issuer }) => issuer)
  await updateStanding(tx, personId, {
    uniqueness: uniquenessOf(worth, issuers),
    methods: ['passkey', 'attention', ...issuers.map((issuer) => `external:${issuer}`)],
    passkeyAssurance: bestOf(worth) ?? null,
  })
}

/** Refuses a passkey that is somebody's already: one key, one person. */
export const addPasskey = async (tx: Tx, personId: string, passkey: Passkey): Promise<void> => {
  if (!(await insertPasskey(tx, personId, passkey)))
    throw new Refusal('passkey_refused', { message: 'This passkey is known already. Sign in with it.' })
}

/** A new person, with a passkey and the codes for the day when it is lost. */
const makePerson = async (tx: Tx, passkey: Passkey) => {
  const personId = tx.ids.token()
  await insertPerson(tx, personId)
  await addPasskey(tx, personId, passkey)
  const codes = await makeRecoveryCodes(tx, personId)
  return { personId, codes, headers: await signPersonIn(tx, personId) }
}

/** One person is one member of an agent, and a membership is one person's. */
const requireFree = async (tx: Tx, member: MemberRow, personId: string): Promise<void> => {
  await requirePerson(tx, personId)
  const taken = member.personId !== null && member.personId !== personId
  const other = (await listMemberships(tx, personId)).some(
    (one) => one.agentId === member.agentId && one.mode === member.mode && one.memberId !== member.memberId,
  )
  if (!taken && !other) return
  throw new Refusal('member_not_enrolled', {
    message: taken
      ? 'Somebody else has used this link already. Ask for one of your own.'
      : 'You are a member here already. One person is one member.',
    details: [{ path: 'body.token', code: 'duplicate', message: 'one person is one member of an agent' }],
  })
}

/** The invited person agrees. What is recorded afterwards rests on this. */
export const enrol = async (deps: MembersDeps, page: FromPage, input: Input) => {
  const { ctx } = deps
  requireOwnPage(ctx, page)
  requireVersion(input.consentVersion)
  const { signedIn } = await inTransaction(ctx, 'system', async (tx) => {
    await requireInvited(tx, input.token)
    if (input.credential === undefined) return { signedIn: await requireSignedIn(tx, page) }
    return { signedIn: await findSignedIn(tx, page) }
  })
  const boundTo = boundToOf(signedIn === undefined ? { token: input.token } : { personId: signedIn })
  const passkey = input.credential === undefined ? undefined : await judgeNew(deps, input.credential, boundTo)
  return inTransaction(ctx, 'system', async (tx) => {
    const member = await requireInvited(tx, input.token)
    const made = passkey && signedIn === undefined ? await makePerson(tx, passkey) : undefined
    const personId = made?.personId ?? signedIn
    if (personId === undefined) throw new Refusal('sign_in_required')
    await requireFree(tx, member, personId)
    if (passkey && !made) await addPasskey(tx, personId, passkey)
    const consentRef = member.consentRef ?? tx.ids.token()
    const { language } = input
    await insertConsent(tx, consentRef, { act: 'given', version: consentVersion, language })
    const status = member.attention === null ? ('consented' as const) : ('enrolled' as const)
    await updateMemberConsented(tx, member, { personId, consentRef, status })
    await refreshStanding(tx, personId)
    return new Answer(
      {
        status,
        site: member.agentId,
        challenge: attentionChallenge(ctx.secrets.derive('attention'), member),
        ...(made ? { recoveryCodes: made.codes } : {}),
      },
      made ? { headers: made.headers } : {},
    )
  })
}
