import type { Person } from '../../platform/http/call.ts'
import { inTransaction } from '../../platform/db/db.ts'
import { Refusal } from '../../platform/http/errors.ts'
import { refreshAssurance, type MembersDeps } from '../membership/enrol.ts'
import { requirePerson } from './login.ts'
import { signalOf } from '../rules.ts'
import { insertProof } from './store.ts'
import { hmacOf } from '../../platform/ops/secrets.ts'

type Input = { readonly issuer: string; readonly proof: unknown }

/** The code of the human, where the proof covers one of the signals of this person. */
const verifyProof = async (
  issuer: MembersDeps['issuers'][number],
  proof: unknown,
  signals: readonly string[],
): Promise<string | undefined> => {
  for (const signal of signals) {
    const code = await issuer.verify(proof, signal)
    if (code !== undefined) return code
  }
  return undefined
}

/** Adds an external issuer's proof to the signed-in person. At each issuer, one human is one person here. */
export const proofAdd = async (deps: MembersDeps, { personId }: Person, input: Input) => {
  const { ctx } = deps
  const issuer = deps.issuers.find(({ name }) => name === input.issuer)
  if (!issuer) throw new Refusal('not_found', { message: 'This issuer is not configured on this service.' })
  const code = await verifyProof(
    issuer,
    input.proof,
    ctx.secrets.accepted('external').map((key) => signalOf(key, personId)),
  )
  if (code === undefined) throw new Refusal('proof_refused')
  const hash = hmacOf(ctx.secrets.derive('external-codes')).update(code).digest()
  return inTransaction(ctx, 'system', async (tx) => {
    await requirePerson(tx, personId)
    if ((await insertProof(tx, { issuer: issuer.name, hash, personId })) !== personId)
      throw new Refusal('member_not_enrolled', {
        message: 'This proof already belongs to an enrolled person.',
        details: [{ path: 'body.proof', code: 'duplicate', message: 'this human is already enrolled' }],
      })
    await refreshAssurance(tx, personId)
    return { added: true as const }
  })
}
