import type { CallFloor, CredentialFloor } from '@pohf/protocol'
import { consumeWalletNonce, stepUpWays, type ProvenWallet, type WalletProof } from '../evidence/index.ts'
import { humanCode, resolveLockedMember, resolveMember, type Member } from '../members/index.ts'
import { inTransaction, readNow, type Tx } from '../platform/db/db.ts'
import type { Agent, ApiResponse } from '../platform/http/call.ts'
import { Refusal } from '../platform/http/errors.ts'
import { checkRefusals, firstRefusal, refusalOrThrow, type Refusals } from '../platform/http/refusals.ts'
import type { Ctx } from '../platform/ops/context.ts'
import { publish } from '../platform/queue/outbox.ts'
import { floorOf } from './forging/rules.ts'
import { draftPersonhood, type PersonhoodDraft } from './mint/draft-personhood.ts'
import {
  replayAnswer,
  signDraft,
  writeSigned,
  type CredentialsDeps,
  type SignedCredential,
  type WithToken,
} from './mint/mint.ts'
import { issueOnchainToken } from './onchain/token.ts'
import {
  insufficientCredits,
  memberRefusals,
  refuseBelowFloor,
  refuseRevoked,
  type FloorCheck,
} from './refusals.ts'
import { claimsOf, isFresh } from './rules.ts'
import { actName, findMintedCredential, type ActKey, type MintedCredential } from './store.ts'
import { proveWallet, readWalletProof } from './wallet-proof.ts'

type Input = CallFloor & {
  readonly memberId: string
  readonly wallet?: string | undefined
  readonly walletSig?: string | undefined
  readonly walletNonce?: string | undefined
}
type PersonhoodAnswer = PersonhoodDraft['answer'] & Partial<Awaited<ReturnType<typeof issueOnchainToken>>>
type PersonhoodResponse = ApiResponse<WithToken<PersonhoodAnswer>>

/**
 * Spends one credit and mints a personhood credential; with a proven wallet it names the wallet and has an on-chain
 * token.
 */
export const verifyPersonhood = async (
  deps: CredentialsDeps,
  agent: Agent,
  input: Input,
): Promise<PersonhoodResponse> => {
  const walletLookup = await loadWallet(deps, agent, input)
  const call = decideWallet(agent, input, walletLookup)
  const decision = await inTransaction(deps.ctx, agent.agentId, async (tx) => {
    const loaded = await load(tx, deps, call)
    const replayed = decide(deps, call, loaded)
    return replayed ? { replayed } : { draft: await draft(tx, deps, call, loaded) }
  })
  if (decision.replayed) return decision.replayed
  const signed = await sign(deps, call, decision.draft)
  return commit(deps, call, signed)
}

// Load and decide: the wallet

type WalletLookup = {
  readonly missingFields: readonly string[]
  readonly proof: WalletProof | undefined
  /** The proven wallet, or why it is refused; undefined without a proof. */
  readonly wallet: ProvenWallet | Refusal | undefined
}

const loadWallet = async (deps: CredentialsDeps, agent: Agent, input: Input): Promise<WalletLookup> => {
  const { proof, missing } = readWalletProof(input)
  const wallet = proof && (await proveWallet(deps, agent, proof, input.memberId).catch(refusalOrThrow))
  return { missingFields: missing, proof, wallet }
}

const refuseMissingFields = ({ missingFields }: WalletLookup) =>
  missingFields.length === 0
    ? undefined
    : new Refusal('validation_failed', {
        details: missingFields.map((name) => ({
          path: `body.${name}`,
          code: 'missing',
          message: 'send wallet, walletSig and walletNonce together',
        })),
      })

const refuseUnprovenWallet = ({ wallet }: WalletLookup) => (wallet instanceof Refusal ? wallet : undefined)

/**
 * The refusals of the wallet, in order, before all others: a request with a nonce is a new act, so a used nonce is never
 * a repeat.
 */
export const walletRefusals: Refusals<WalletLookup> = [
  ['wallet_fields_missing', refuseMissingFields],
  ['wallet_not_proven', refuseUnprovenWallet],
]

/** A call without a wallet, or with a proven one and the nonce that the mint consumes. */
type PersonhoodCall = {
  readonly agent: Agent
  readonly memberId: string
  readonly key: ActKey
  readonly floor: CredentialFloor
  readonly bound: { readonly wallet: ProvenWallet; readonly nonce: string } | undefined
}

const decideWallet = (agent: Agent, input: Input, lookup: WalletLookup): PersonhoodCall => {
  checkRefusals(walletRefusals, lookup)
  const { proof, wallet } = lookup
  const { memberId } = input
  const floor = floorOf(agent.policy, 'personhood', input)
  const tenant = { agentId: agent.agentId, mode: agent.mode }
  if (!proof) {
    const key: ActKey = { ...tenant, act: 'personhood', reference: memberId }
    return { agent, memberId, key, floor, bound: undefined }
  }
  const reference = `${memberId} ${proof.wallet.toLowerCase()}`
  const key: ActKey = { ...tenant, act: 'personhood', reference }
  if (!wallet || wallet instanceof Refusal)
    throw new Error(`verify-personhood expected a wallet for ${actName(key)}, found no result of its proof`)
  return { agent, memberId, key, floor, bound: { wallet, nonce: proof.walletNonce } }
}

// Load

/** Everything that the decision needs. */
type LoadedPersonhood = {
  readonly stored: MintedCredential | undefined
  /** Whether the call gets the stored credential again. */
  readonly isRepeat: boolean
  /** Whether the agent can pay, or why it may not; undefined where the stored credential decides. */
  readonly allowance: boolean | Refusal | undefined
  /** Undefined also where the stored credential decides or the agent cannot pay. */
  readonly member: Member | undefined
}

const floorCheckOf = (
  { forging }: CredentialsDeps,
  { floor }: PersonhoodCall,
  { jwt, now }: MintedCredential,
): FloorCheck => ({ floor, strength: claimsOf(jwt), forging, at: now, stepUp: () => [] })

/**
 * A repeat gets the stored credential until two thirds of its life have passed. With a wallet it is a new act. One below
 * the floor is minted anew, because the member may have stepped up. A suspended credential is not replaced.
 */
const isRepeated = (deps: CredentialsDeps, call: PersonhoodCall, stored: MintedCredential): boolean =>
  stored.state === 'suspended' ||
  (stored.state !== 'revoked' &&
    !call.bound &&
    isFresh(stored.mintedAt, stored.expiresAt, stored.now) &&
    firstRefusal(floorRefusals, floorCheckOf(deps, call, stored)) === undefined)

/** Roots that no issuer can take back: the network, devices that answered, and accounts that were paid. */
const lastingRoots: readonly string[] = ['network', 'authenticator', 'app', 'payout_account']

/** Whether the proofs that a stored credential names still count: somebody who left their company is not repeated as its member. */
const hasItsProofs = async (
  tx: Tx,
  { agent, memberId }: PersonhoodCall,
  { jwt, state }: MintedCredential,
): Promise<boolean> => {
  const named = (claimsOf(jwt).roots ?? []).filter(({ kind }) => !lastingRoots.includes(kind))
  if (named.length === 0 || state === 'suspended') return true
  const member = await resolveMember(tx, agent, memberId)
  const proofs = member?.status === 'enrolled' && !member.simulated ? member.proofs : []
  return named.every((root) =>
    proofs.some(({ kind, issuer }) => kind === root.kind && issuer === root.issuer),
  )
}

/** Loads no more than the decision needs: a repeat reads no balance, and an agent that cannot pay no member. */
const load = async (tx: Tx, deps: CredentialsDeps, call: PersonhoodCall): Promise<LoadedPersonhood> => {
  const stored = await findMintedCredential(tx, call.key)
  const isRepeat =
    stored !== undefined && isRepeated(deps, call, stored) && (await hasItsProofs(tx, call, stored))
  if (stored && (stored.state === 'revoked' || isRepeat))
    return { stored, isRepeat, allowance: undefined, member: undefined }
  const allowance = await deps.credits.hasAllowance(tx, call.agent).catch(refusalOrThrow)
  const member = allowance === true ? await resolveMember(tx, call.agent, call.memberId) : undefined
  return { stored, isRepeat, allowance, member }
}

// Decide

/** A call that needs credits. The configuration has the address where they are sold. */
type PayingCall = LoadedPersonhood & { readonly ctx: Pick<Ctx, 'config'> }

const refuseAllowance = ({ allowance }: LoadedPersonhood) =>
  allowance instanceof Refusal ? allowance : undefined

const refuseWithoutCredits = ({ allowance, ctx }: PayingCall) =>
  allowance === false ? insufficientCredits(ctx) : undefined

/**
 * The refusals of verify-personhood for a call that is not a repeat, in order. A new wallet signature does not undo a
 * revocation. Payment comes before the member: an agent without credits learns nothing about members.
 */
export const personhoodRefusals: Refusals<PayingCall> = [
  ['credential_revoked', refuseRevoked],
  ['allowance_refused', refuseAllowance],
  ['insufficient_credits', refuseWithoutCredits],
  ...memberRefusals,
]

/**
 * The last refusal, for drafts and suspended credentials: the caller never gets a credential below the floor it asked for.
 */
export const floorRefusals: Refusals<FloorCheck> = [
  ['below_policy', (check) => refuseBelowFloor('below_policy', check)],
]

/** The stored response to a repeat, whatever the balance; undefined where a credential is minted. */
const decide = (
  deps: CredentialsDeps,
  call: PersonhoodCall,
  loaded: LoadedPersonhood,
): PersonhoodResponse | undefined => {
  const { stored, isRepeat } = loaded
  if (stored && isRepeat) {
    checkRefusals(floorRefusals, floorCheckOf(deps, call, stored))
    return replayAnswer<PersonhoodAnswer>(stored)
  }
  checkRefusals(personhoodRefusals, { ...loaded, ctx: deps.ctx })
  return undefined
}

/** The draft, and for a wallet the codes of its on-chain token. */
const draft = async (
  tx: Tx,
  deps: CredentialsDeps,
  { agent, memberId, key, floor, bound }: PersonhoodCall,
  { stored, member }: LoadedPersonhood,
) => {
  if (member?.status !== 'enrolled')
    throw new Error(
      `verify-personhood expected an enrolled member for ${actName(key)}, found ${member?.status ?? 'none'}`,
    )
  const credential = await draftPersonhood(tx, deps, { agent, memberId, member, wallet: bound?.wallet })
  const { claims } = credential
  const at = new Date(claims.iat * 1_000)
  const memberKey = { agentId: agent.agentId, mode: agent.mode, memberId }
  const stepUp = () => stepUpWays(deps.ctx, { ...memberKey, subjectRef: memberId }, at)
  checkRefusals(floorRefusals, { floor, strength: claims, forging: deps.forging, at, stepUp })
  const codes = bound && {
    human: await humanCode(tx, deps.ctx.secrets, 'registry', memberKey),
    nul: await humanCode(tx, deps.ctx.secrets, `registry ${agent.agentId}`, memberKey),
  }
  const [root] = await deps.roots.listCharges(
    tx,
    [
      {
        agentId: agent.agentId,
        mode: agent.mode,
        session: member.simulated ? undefined : member.attention,
        roots: credential.roots,
        limit: credential.limit,
      },
    ],
    await readNow(tx),
  )
  return { credential, codes, root: root ?? null, replaces: stored?.credentialId }
}

// Sign

/** Signs the on-chain token of the wallet, if there is one, then the credential; outside any transaction. */
const sign = async (
  deps: CredentialsDeps,
  { agent, key, bound }: PersonhoodCall,
  { credential, codes, root, replaces }: Awaited<ReturnType<typeof draft>>,
): Promise<SignedCredential<PersonhoodAnswer>> => {
  const onchain =
    bound &&
    codes &&
    (await issueOnchainToken(deps, agent, { claims: credential.claims, wallet: bound.wallet, ...codes }))
  return signDraft<PersonhoodAnswer>(deps, {
    key,
    ...credential,
    answer: { ...credential.answer, ...onchain },
    root,
    replaces,
    sessionId: null,
    charged: true,
  })
}

// Commit and answer

/** Writes and charges, consumes the nonce and publishes the events, in one transaction. */
const commit = (
  deps: CredentialsDeps,
  { agent, memberId, bound }: PersonhoodCall,
  signed: SignedCredential<PersonhoodAnswer>,
): Promise<PersonhoodResponse> =>
  inTransaction(deps.ctx, agent.agentId, async (tx) => {
    const subject = { agentId: agent.agentId, mode: agent.mode, subjectRef: memberId }
    const stepUp = () => stepUpWays(deps.ctx, subject, signed.row.at)
    const replayed = await writeSigned(tx, deps.ctx, signed, stepUp)
    if (replayed) return replayed
    // The member may have withdrawn or been erased since the load: the refusal undoes the mint and its charge.
    checkRefusals(memberRefusals, { member: await resolveLockedMember(tx, agent, memberId) })
    const { credentialId } = signed.row
    const about = { agentId: agent.agentId, mode: agent.mode, subject: memberId }
    await publish(tx, { ...about, type: 'personhood.verified', data: { memberId, credentialId } })
    if (!bound) return signed.answer
    const { wallet, chainId } = bound.wallet
    await consumeWalletNonce(tx, agent.agentId, bound.nonce)
    await publish(tx, {
      ...about,
      type: 'personhood.wallet_bound',
      data: { memberId, credentialId, wallet, chainId },
    })
    return signed.answer
  })
