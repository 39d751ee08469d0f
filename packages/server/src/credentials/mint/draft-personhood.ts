import type { ProvenWallet } from '../../evidence/index.ts'
import type { Agent } from '../../platform/http/call.ts'
import { readNow, type Tx } from '../../platform/db/db.ts'
import { commonClaims, limitClaim, limitOf, pairwiseSubject } from '../rules.ts'
import { memberAssuranceInputs, type EnrolledMember } from './assurance-inputs.ts'
import type { CredentialsDeps } from './mint.ts'

type PersonhoodSubject = {
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

/** Drafts a personhood credential: its claims, and the response body without the token. */
export const draftPersonhood = async (
  tx: Tx,
  deps: Pick<CredentialsDeps, 'ctx'>,
  subject: PersonhoodSubject,
) => {
  const { agent, memberId, member, wallet } = subject
  const at = await readNow(tx)
  const frame = commonClaims({ baseUrl: deps.ctx.config.BASE_URL, mode: agent.mode, kind: 'personhood', at })
  const credentialId = deps.ctx.ids.make('crd_')
  const salt = Buffer.from(deps.ctx.ids.random(), 'base64url')
  const { quality, scoring, assurance, roots, checkedAt, evidence, claim } = await memberAssuranceInputs(
    tx,
    subject,
    at,
    salt,
  )
  const limit = limitOf(agent, 'personhood', roots)
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
      ...limitClaim(limit),
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
    simulated: member.simulated,
    roots,
    limit,
  }
}

export type PersonhoodDraft = Awaited<ReturnType<typeof draftPersonhood>>
