import type { Agent } from '../platform/http/call.ts'
import { inTransaction, readNow, type Tx } from '../platform/db/db.ts'
import { Refusal } from '../platform/http/errors.ts'
import { publish } from '../platform/queue/outbox.ts'
import {
  consumeWalletNonce,
  findWalletChallenge,
  proveByContract,
  proveByKey,
  type ProvenWallet,
  type WalletProof,
} from '../evidence/index.ts'
import { humanCode, resolveMember, type Member } from '../members/index.ts'
import { mint, replayAnswer, requireAllowance, type CredentialsDeps } from './mint/mint.ts'
import { issueOnchainToken } from './onchain/token.ts'
import { commonClaims, isFresh, pairwiseSubject } from './rules.ts'
import { memberAssuranceInputs, type EnrolledMember } from './mint/assurance-inputs.ts'
import { findMintedCredential } from './store.ts'

type Input = {
  readonly memberId: string
  readonly wallet?: string | undefined
  readonly walletSig?: string | undefined
  readonly walletNonce?: string | undefined
}

/** The three wallet fields are given together or not at all. */
const walletProofOf = (input: Input): WalletProof | undefined => {
  const { wallet, walletSig, walletNonce } = input
  if (wallet !== undefined && walletSig !== undefined && walletNonce !== undefined)
    return { wallet, walletSig, walletNonce }
  if (wallet === undefined && walletSig === undefined && walletNonce === undefined) return undefined
  const missing = Object.entries({ wallet, walletSig, walletNonce }).filter(
    ([, value]) => value === undefined,
  )
  throw new Refusal('validation_failed', {
    details: missing.map(([name]) => ({
      path: `body.${name}`,
      code: 'missing',
      message: 'wallet, walletSig and walletNonce come together',
    })),
  })
}

/** Refuses a member who is unknown, not enrolled, a duplicate or banned. */
export const requireEnrolled = (member: Member | undefined): EnrolledMember => {
  if (!member) throw new Refusal('not_found', { message: 'No such member.' })
  if (member.status === 'refused') {
    throw new Refusal('member_not_enrolled', {
      details: [
        {
          path: 'body.memberId',
          code: member.reason,
          message: `the member is ${member.reason.replaceAll('_', ' ')}`,
        },
      ],
    })
  }
  return member
}

type Subject = {
  readonly agent: Agent
  readonly memberId: string
  readonly member: EnrolledMember
  readonly wallet: ProvenWallet | undefined
}

const walletClaims = ({ wallet, type, chainId }: ProvenWallet) => ({
  wallet,
  wallet_type: type,
  ...(type === 'contract' && chainId !== null ? { wallet_chain: chainId } : {}),
})

/** Proves the wallet first. A chain is called only for a caller who can pay, and outside a transaction. */
const proveWallet = async (
  deps: CredentialsDeps,
  agent: Agent,
  proof: WalletProof,
  memberId: string,
): Promise<ProvenWallet> => {
  const { challenge, bound } = await inTransaction(deps.ctx, agent.agentId, async (tx) => {
    const found = await findWalletChallenge(tx, agent.agentId, proof, memberId)
    const byKey = await proveByKey(found, proof)
    const asksChain = !byKey && deps.ctx.config.EVM_RPC_URLS.has(found.contractChain ?? 0)
    if (asksChain) await requireAllowance(tx, deps, agent)
    return { challenge: found, bound: byKey }
  })
  return bound ?? proveByContract(deps.ctx, challenge, proof)
}

const draftPersonhood = async (tx: Tx, deps: CredentialsDeps, subject: Subject) => {
  const { agent, memberId, member, wallet } = subject
  const at = await readNow(tx)
  const frame = commonClaims({ baseUrl: deps.ctx.config.BASE_URL, mode: agent.mode, kind: 'personhood', at })
  const credentialId = deps.ctx.ids.make('crd_')
  const salt = Buffer.from(deps.ctx.ids.token(), 'base64url')
  const { quality, scoring, assurance, checkedAt, evidence, claim } = await memberAssuranceInputs(
    tx,
    subject,
    at,
    salt,
  )
  return {
    claims: {
      ...frame,
      jti: credentialId,
      sub: pairwiseSubject(deps.ctx.secrets.derive('pairwise'), agent.agentId, memberId),
      agent: agent.agentId,
      event_at: frame.iat,
      assurance,
      quality,
      scoring,
      uniqueness: member.uniqueness,
      evidence,
      ...claim,
      personhood: {
        methods: [...member.methods],
        checked_at: Math.floor(checkedAt.getTime() / 1_000),
      },
      ...(wallet === undefined ? {} : walletClaims(wallet)),
    },
    answer: {
      verified: true,
      quality,
      credentialId,
      kind: 'personhood' as const,
      assurance,
      expiresAt: new Date(frame.exp * 1_000).toISOString(),
      uniqueness: member.uniqueness,
      methods: [...member.methods],
    },
    salt,
  }
}

type PersonhoodAnswer = Awaited<ReturnType<typeof draftPersonhood>>['answer'] &
  Partial<Awaited<ReturnType<typeof issueOnchainToken>>>

/**
 * Spends one credit and mints a personhood credential; with a proven wallet it names the wallet and has an on-chain
 * token.
 */
export const verifyPersonhood = async (deps: CredentialsDeps, agent: Agent, input: Input) => {
  const proof = walletProofOf(input)
  const reference = proof ? `${input.memberId} ${proof.wallet.toLowerCase()}` : input.memberId
  const key = { agentId: agent.agentId, mode: agent.mode, act: 'personhood', reference } as const
  // A request with a nonce is a new act: the nonce is checked first, and a used one is never a repeat.
  const bound = proof ? await proveWallet(deps, agent, proof, input.memberId) : undefined
  const lookup = await inTransaction(deps.ctx, agent.agentId, async (tx) => {
    const stored = await findMintedCredential(tx, key)
    // A new signature proves the wallet; it does not undo a revocation.
    if (stored?.state === 'revoked') throw new Refusal('credential_revoked')
    if (stored && !proof && isFresh(stored.mintedAt, stored.expiresAt, stored.now)) {
      return { repeat: replayAnswer<PersonhoodAnswer>(stored) }
    }
    await requireAllowance(tx, deps, agent)
    const member = requireEnrolled(await resolveMember(tx, agent, input.memberId))
    const draft = await draftPersonhood(tx, deps, { agent, memberId: input.memberId, member, wallet: bound })
    const memberKey = { agentId: agent.agentId, mode: agent.mode, memberId: input.memberId }
    const codes = bound && {
      human: await humanCode(tx, deps.ctx.secrets, 'registry', memberKey),
      nul: await humanCode(tx, deps.ctx.secrets, `registry ${agent.agentId}`, memberKey),
    }
    return { draft, codes, replaces: stored?.credentialId, simulated: member.simulated }
  })
  if (lookup.repeat) return lookup.repeat
  const { draft, codes, replaces, simulated } = lookup
  const onchain =
    bound &&
    codes &&
    (await issueOnchainToken(deps, agent, { claims: draft.claims, wallet: bound, ...codes }))
  const full = {
    key,
    ...draft,
    answer: { ...draft.answer, ...onchain },
    replaces,
    simulated,
    sessionId: null,
    charged: true,
  }
  return mint<PersonhoodAnswer>(deps, full, async (tx) => {
    const { jti: credentialId } = draft.claims
    const about = { agentId: agent.agentId, mode: agent.mode, subject: input.memberId }
    await publish(tx, {
      ...about,
      type: 'personhood.verified',
      data: { memberId: input.memberId, credentialId },
    })
    if (!proof || !bound) return
    await consumeWalletNonce(tx, agent.agentId, proof.walletNonce)
    await publish(tx, {
      ...about,
      type: 'personhood.wallet_bound',
      data: { memberId: input.memberId, credentialId, wallet: bound.wallet, chainId: bound.chainId },
    })
  })
}
