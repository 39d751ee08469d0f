import type { Person } from '../../platform/http/call.ts'
import { inTransaction } from '../../platform/db/db.ts'
import { Refusal } from '../../platform/http/errors.ts'
import { beginCheck } from '../../issuers/index.ts'
import type { MembersDeps } from '../membership/enrol.ts'
import { listMemberships } from '../membership/store.ts'
import { originOf } from '../rules.ts'
import { requirePerson } from './login.ts'

type Input = { readonly issuer: string; readonly memberId?: string | undefined }

/** What a check of a person is about: themselves, whichever agents they are members of. */
export const proofAct: readonly string[] = ['person']

/** Begins a check with an outside issuer for the signed-in person. */
export const proofBegin = async (deps: MembersDeps, { personId }: Person, { issuer, memberId }: Input) => {
  const { ctx } = deps
  const agentId = await inTransaction(ctx, 'system', async (tx) => {
    await requirePerson(tx, personId)
    if (memberId === undefined) return undefined
    const member = (await listMemberships(tx, personId)).find((one) => one.memberId === memberId)
    if (!member) throw new Refusal('not_found', { message: 'You are no such member.' })
    return member.agentId
  })
  const { origin } = originOf(ctx.config)
  return beginCheck(deps, { issuer, agentId, personId, sessionId: null, jkt: null, act: proofAct, origin })
}
