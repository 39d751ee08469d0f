import { finishCheck, refusalOf, requirePresent, type CheckedProof } from '../../issuers/index.ts'
import type { Person } from '../../platform/http/call.ts'
import { inTransaction, type Tx } from '../../platform/db/db.ts'
import { Refusal } from '../../platform/http/errors.ts'
import { refreshAssurance, type MembersDeps } from '../membership/enrol.ts'
import { originOf } from '../rules.ts'
import { requirePerson } from './login.ts'
import { proofAct } from './proof-begin.ts'
import { hasTombstone, updateProofWithdrawn, upsertProof } from './store.ts'

type Input = { readonly state: string; readonly answer: unknown }

/** Stores what an issuer showed of a person. At each issuer, one human is one person here, also after an erasure. */
const storeProof = async (tx: Tx, personId: string, checked: CheckedProof): Promise<void> => {
  const { issuer, codeHash, shown } = checked
  await requirePerson(tx, personId)
  await requirePresent(tx, checked)
  if (await hasTombstone(tx, issuer.name, codeHash)) throw refusalOf('erased')
  const owner = await upsertProof(tx, {
    issuer: issuer.name,
    issuerId: issuer.issuerId,
    codeHash,
    personId,
    kind: issuer.kind,
    sourceClass: issuer.sourceClass,
    level: shown.level,
    counted: shown.counted,
    named: issuer.named,
    fresh: issuer.fresh,
    model: shown.model ?? null,
    agents: issuer.agents === undefined ? null : [...issuer.agents],
    checkedAt: shown.checkedAt,
    expiresAt: shown.expiresAt,
    evidenceHash: shown.evidenceHash,
  })
  if (owner !== personId)
    throw new Refusal('member_not_enrolled', {
      message: 'This proof already belongs to an enrolled person.',
      details: [{ path: 'body.answer', code: 'duplicate', message: 'this human is already enrolled' }],
    })
  await refreshAssurance(tx, personId)
}

/** An issuer takes its word back: the person is not the human of this proof any more, from now on. */
export const withdrawProof = async (tx: Tx, issuer: string, codeHash: Buffer): Promise<void> => {
  const personId = await updateProofWithdrawn(tx, issuer, codeHash)
  if (personId !== undefined) await refreshAssurance(tx, personId)
}

/** What a page learns of a proof. */
const describeProof = ({ issuer, shown }: CheckedProof) => ({
  issuer: issuer.name,
  issuerId: issuer.issuerId,
  kind: issuer.kind,
  class: issuer.sourceClass,
  level: shown.level,
  counted: shown.counted,
  checkedAt: shown.checkedAt.toISOString(),
  expiresAt: shown.expiresAt.toISOString(),
})

/** Finishes a check of the signed-in person and stores the proof. */
export const proofFinish = async (deps: MembersDeps, { personId }: Person, { state, answer }: Input) => {
  const { ctx } = deps
  const { origin } = originOf(ctx.config)
  const subject = { personId, sessionId: null, jkt: null, act: proofAct, origin }
  const checked = await finishCheck(deps, { ...subject, state, answer })
  await inTransaction(ctx, 'system', (tx) => storeProof(tx, personId, checked))
  return describeProof(checked)
}
