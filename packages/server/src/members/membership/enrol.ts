import { ApiResponse } from '../../platform/http/call.ts'
import type { Ctx } from '../../platform/ops/context.ts'
import { inTransaction, readNow, type Tx } from '../../platform/db/db.ts'
import { Refusal } from '../../platform/http/errors.ts'
import type { Erasure } from '../people/erase-person.ts'
import type { Issuers } from '../../issuers/index.ts'
import { requireInvited } from './invitation.ts'
import {
  findSignedIn,
  requireOwnPage,
  requirePerson,
  requireSignedIn,
  signPersonIn,
  type PageRequest,
} from '../people/login.ts'
import { boundToOf } from '../people/passkey-options.ts'
import { readChallenge } from '../../platform/ops/tokens.ts'
import type { Passkey, PasskeyVerifier } from '../people/passkeys.ts'
import { makeRecoveryCodes } from '../people/recovery-codes.ts'
import {
  attentionChallenge,
  bestAssurance,
  consentVersion,
  isCheckDue,
  originOf,
  proofPrefix,
  uniquenessOf,
} from '../rules.ts'
import {
  insertConsent,
  listMemberships,
  updateMemberConsented,
  updateMemberAssurance,
  type MemberKey,
  type MemberRow,
} from './store.ts'
import {
  insertPasskey,
  insertPerson,
  listPasskeys,
  listValidProofs,
  consumeChallenge,
} from '../people/store.ts'

export type MembersDeps = Erasure & {
  readonly ctx: Ctx
  readonly passkeyVerifier: PasskeyVerifier
  /** Injected by the wiring: the name of an agent; undefined when it may not act. */
  readonly findName: (tx: Tx, agentId: string) => Promise<string | undefined>
  readonly issuers: Issuers
  /** Injected by the wiring: data of a member in other modules, for the export. */
  readonly exportMember: (tx: Tx, member: MemberKey) => Promise<object>
}
type Input = {
  readonly token: string
  readonly consentVersion: string
  readonly language: 'en' | 'de'
  readonly credential?: unknown
}

/** Consent to an older text does not count. */
const requireConsentVersion = (version: string): void => {
  if (version === consentVersion) return
  throw new Refusal('validation_failed', {
    details: [
      {
        path: 'body.consentVersion',
        code: 'outdated',
        message: 'the consent text has changed: reload the page and read it again',
      },
    ],
  })
}

/** Verifies a new passkey outside any transaction; its challenge is consumed whatever the result. */
export const verifyMemberPasskey = async (
  { ctx, passkeyVerifier }: MembersDeps,
  credential: unknown,
  boundTo: string,
): Promise<Passkey> => {
  const challenge = readChallenge(ctx.ids, credential)
  const consumed =
    challenge !== undefined &&
    (await inTransaction(ctx, 'system', (tx) =>
      consumeChallenge(tx, { challenge, purpose: 'create', boundTo }),
    ))
  const passkey = consumed
    ? await passkeyVerifier.verifyNew(credential, { challenge, ...originOf(ctx.config) })
    : undefined
  if (!passkey) throw new Refusal('passkey_refused')
  return passkey
}

/**
 * Updates the uniqueness, methods and passkey assurance of all memberships of a person. An issuer may serve some agents only, and
 * no other agent learns of its proofs.
 */
export const refreshAssurance = async (tx: Tx, personId: string): Promise<void> => {
  const passkeys = (await listPasskeys(tx, personId)).map(({ assurance }) => assurance)
  const at = await readNow(tx)
  for (const agentId of new Set((await listMemberships(tx, personId)).map((member) => member.agentId))) {
    const proofs = await listValidProofs(tx, personId, { agentId, at })
    await updateMemberAssurance(
      tx,
      { personId, agentId },
      {
        uniqueness: uniquenessOf(passkeys, proofs),
        methods: ['passkey', 'attention', ...proofs.map(({ name }) => `${proofPrefix}${name}`)],
        passkeyAssurance: bestAssurance(passkeys) ?? null,
      },
    )
  }
}

/** Refuses a passkey that already belongs to a person: one key, one person. */
export const addPasskey = async (tx: Tx, personId: string, passkey: Passkey): Promise<void> => {
  if (!(await insertPasskey(tx, personId, passkey)))
    throw new Refusal('passkey_refused', { message: 'This passkey is already registered. Sign in with it.' })
}

/** Creates a person with a passkey and recovery codes. */
const makePerson = async (tx: Tx, passkey: Passkey) => {
  const personId = tx.ids.random()
  await insertPerson(tx, personId)
  await addPasskey(tx, personId, passkey)
  const codes = await makeRecoveryCodes(tx, personId)
  return { personId, codes, headers: await signPersonIn(tx, personId) }
}

/** One person is one member of an agent, and a membership belongs to one person. */
const requireUnclaimed = async (tx: Tx, member: MemberRow, personId: string): Promise<void> => {
  await requirePerson(tx, personId)
  const isClaimed = member.personId !== null && member.personId !== personId
  const isOtherMember = (await listMemberships(tx, personId)).some(
    (one) => one.agentId === member.agentId && one.mode === member.mode && one.memberId !== member.memberId,
  )
  if (!isClaimed && !isOtherMember) return
  throw new Refusal('member_not_enrolled', {
    message: isClaimed
      ? 'Somebody else has used this link already. Ask for one of your own.'
      : 'You are a member here already. One person is one member.',
    details: [
      { path: 'body.token', code: 'duplicate', message: 'this person is already a member of this agent' },
    ],
  })
}

/** Records the invited person's consent. Nothing is recorded of them before. */
export const enrol = async (deps: MembersDeps, page: PageRequest, input: Input) => {
  const { ctx } = deps
  requireOwnPage(ctx, page)
  requireConsentVersion(input.consentVersion)
  const { signedIn } = await inTransaction(ctx, 'system', async (tx) => {
    await requireInvited(tx, input.token)
    if (input.credential === undefined) return { signedIn: await requireSignedIn(tx, page) }
    return { signedIn: await findSignedIn(tx, page) }
  })
  const boundTo = boundToOf(signedIn === undefined ? { token: input.token } : { personId: signedIn })
  const passkey =
    input.credential === undefined ? undefined : await verifyMemberPasskey(deps, input.credential, boundTo)
  return inTransaction(ctx, 'system', async (tx) => {
    const member = await requireInvited(tx, input.token)
    const newPerson = passkey && signedIn === undefined ? await makePerson(tx, passkey) : undefined
    const personId = newPerson?.personId ?? signedIn
    if (personId === undefined) throw new Refusal('sign_in_required')
    await requireUnclaimed(tx, member, personId)
    if (passkey && !newPerson) await addPasskey(tx, personId, passkey)
    const consentRef = member.consentRef ?? tx.ids.random()
    const { language } = input
    await insertConsent(tx, consentRef, { act: 'given', version: consentVersion, language })
    const status = member.attention === null ? ('consented' as const) : ('enrolled' as const)
    await updateMemberConsented(tx, member, { personId, consentRef, status })
    await refreshAssurance(tx, personId)
    return new ApiResponse(
      {
        status,
        checkRequired: isCheckDue(member.attention, await readNow(tx)),
        site: deps.platformAgentOf(member.mode),
        challenge: attentionChallenge(ctx.secrets.accepted('attention')[0], member),
        ...(newPerson ? { recoveryCodes: newPerson.codes } : {}),
      },
      newPerson ? { headers: newPerson.headers } : {},
    )
  })
}
