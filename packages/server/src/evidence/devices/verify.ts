import { createHash } from 'node:crypto'
import { z } from 'zod'
import type { AuthenticationResponseJSON, RegistrationResponseJSON } from '@simplewebauthn/server'
import type { AttestationSettings } from '@pohf/protocol'
import type { Agent } from '../../platform/http/call.ts'
import type { Ctx } from '../../platform/ops/context.ts'
import { inTransaction, readNow, type Tx } from '../../platform/db/db.ts'
import { Refusal } from '../../platform/http/errors.ts'
import { publish } from '../../platform/queue/outbox.ts'
import { verifyAppAssertion, verifyAppAttestation, type AppleTrust } from './app-attest.ts'
import { EvidenceRefused, judgeEvidence, type Attested, type DeviceKey } from './attestation.ts'
import type { DeviceTrust } from './attestation-trust.ts'
import { verifyPlayIntegrity } from './play-integrity.ts'
import { attestationDays } from '../rules.ts'
import {
  findDeviceKey,
  findNonce,
  insertDeviceKey,
  updateDeviceAttestation,
  updateDeviceCounter,
  updateNonceUsed,
} from '../store.ts'
import { verifyKnownPasskey, verifyNewPasskey } from './webauthn.ts'

type Attestation = {
  readonly method: 'webauthn' | 'play_integrity' | 'app_attest'
  readonly nonce: string
  readonly subjectRef: string
  readonly evidence?: unknown
}
export type AttestDeps = {
  readonly ctx: Ctx
  readonly trust: Promise<DeviceTrust>
  readonly findSettings: (tx: Tx, agentId: string) => Promise<AttestationSettings>
}

const base64 = z
  .string()
  .max(65_536)
  .regex(/^[A-Za-z0-9+/_-]+={0,2}$/)
  .transform((value) => Buffer.from(value, 'base64'))
const passkey = z.object({
  credential: z.looseObject({ id: z.string().max(1_400), response: z.looseObject({}) }),
})
const appKey = z.object({ keyId: base64, attestationObject: base64 })
const appSignature = z.object({ keyId: base64, assertion: base64, clientData: base64 })
const playToken = z.object({
  integrityToken: z.string().max(32_768),
  packageName: z.string().max(256),
  requestType: z.enum(['classic', 'standard']).default('classic'),
})

/** What the evidence is judged by: the agent's settings, whom we trust, when, and the challenge. */
type Bench = {
  readonly settings: AttestationSettings
  readonly trust: DeviceTrust
  readonly at: Date
  readonly challenge: string
  readonly baseUrl: string
  /** The key that the evidence names, where this subject proved it before. */
  readonly findKey: (keyId: string) => Promise<DeviceKey>
}

const judgePasskey = async (evidence: unknown, bench: Bench): Promise<Attested> => {
  const { credential } = passkey.parse(evidence)
  const own = new URL(bench.baseUrl)
  const relying = {
    origins: [own.origin, ...bench.settings.webauthn.origins],
    rpIds: [own.hostname, ...bench.settings.webauthn.rpIds],
    verifiesUser: false,
  }
  const { challenge } = bench
  if ('attestationObject' in credential.response)
    return verifyNewPasskey(
      { credential: credential as unknown as RegistrationResponseJSON, challenge },
      relying,
      bench.trust.levelOf,
    )
  const used = { credential: credential as unknown as AuthenticationResponseJSON, challenge }
  return verifyKnownPasskey(used, await bench.findKey(credential.id), relying)
}

const judgeApp = async (evidence: unknown, bench: Bench): Promise<Attested> => {
  const trust: AppleTrust = { roots: bench.trust.appleRoots, at: bench.at, ...bench.settings.appAttest }
  const fresh = appKey.safeParse(evidence)
  if (fresh.success) {
    const clientDataHash = createHash('sha256').update(bench.challenge).digest()
    return verifyAppAttestation({ ...fresh.data, clientDataHash }, trust)
  }
  const { keyId, assertion, clientData } = appSignature.parse(evidence)
  const known = await bench.findKey(keyId.toString('base64url'))
  return verifyAppAssertion({ assertion, clientData, challenge: bench.challenge }, known, trust)
}

const judgePlay = async (evidence: unknown, bench: Bench): Promise<Attested> =>
  verifyPlayIntegrity(
    { ...playToken.parse(evidence), challenge: bench.challenge },
    { keysOf: bench.trust.playKeysOf, packages: bench.settings.playIntegrity.packages, at: bench.at },
  )

const judges = { webauthn: judgePasskey, app_attest: judgeApp, play_integrity: judgePlay } as const

/** Uses the nonce up, whatever comes of it. */
const takeNonce = async (tx: Tx, agentId: string, nonce: string): Promise<void> => {
  const key = { agentId, purpose: 'attest', nonce } as const
  if (await updateNonceUsed(tx, key)) return
  const known = await findNonce(tx, key)
  throw new Refusal(known?.used_at ? 'nonce_used' : 'nonce_expired')
}

type Owner = {
  readonly agentId: string
  readonly mode: Agent['mode']
  readonly method: Attestation['method']
  readonly subjectRef: string
}

/** Remembers the key; false where it is another subject's, or where another call moved its counter on. */
const keepKey = async (tx: Tx, owner: Owner, key: DeviceKey): Promise<boolean> => {
  if (await insertDeviceKey(tx, owner, key)) return true
  return updateDeviceCounter(tx, owner, key)
}

const none = (reason: string) => ({ attested: false, assurance: 'none' as const, reason })

/** Checks the evidence of a device, and remembers what it is worth for a while. */
export const attestVerify = async (deps: AttestDeps, agent: Agent, input: Attestation) => {
  const { ctx } = deps
  const { agentId, mode } = agent
  const { method, subjectRef, evidence } = input
  const owner = { agentId, mode, method, subjectRef }
  const { settings, at } = await inTransaction(ctx, agentId, async (tx) => {
    await takeNonce(tx, agentId, input.nonce)
    return { settings: await deps.findSettings(tx, agentId), at: await readNow(tx) }
  })
  if (evidence === undefined) return none('evidence_missing')
  const trust = await deps.trust
  const findKey = async (keyId: string): Promise<DeviceKey> => {
    const known = await inTransaction(ctx, agentId, (tx) => findDeviceKey(tx, owner, keyId))
    if (!known) throw new EvidenceRefused('key_unknown')
    return known
  }
  const bench = { settings, trust, at, challenge: input.nonce, baseUrl: ctx.config.BASE_URL, findKey }
  const judged = await judgeEvidence(() => judges[method](evidence, bench))
  if (!judged.attested) return none(judged.reason)
  const assurance = trust.capped && judged.assurance !== 'none' ? 'software' : judged.assurance
  return inTransaction(ctx, agentId, async (tx) => {
    if (
      judged.key &&
      !(await keepKey(tx, owner, { ...judged.key, assurance: keptAssurance(judged.key, trust) }))
    )
      return none('key_taken')
    await updateDeviceAttestation(tx, owner, { assurance, days: attestationDays[method] })
    await publish(tx, {
      agentId,
      mode,
      subject: subjectRef,
      type: 'device.attested',
      data: { subjectRef, method, assurance },
    })
    return { attested: true, assurance }
  })
}

const keptAssurance = (key: DeviceKey, trust: DeviceTrust) => (trust.capped ? 'software' : key.assurance)
