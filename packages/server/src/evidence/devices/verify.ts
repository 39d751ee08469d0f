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
import { EvidenceError, verifyEvidence, type AttestationResult, type DeviceKey } from './attestation.ts'
import type { DeviceTrust } from './attestation-trust.ts'
import { verifyPlayIntegrity } from './play-integrity.ts'
import { attestationDays } from '../rules.ts'
import { findDeviceKey, insertDeviceKey, updateDeviceAttestation, updateDeviceCounter } from './store.ts'
import { findNonce, updateNonceUsed } from '../store.ts'
import { verifyKnownPasskey, verifyNewPasskey } from './webauthn.ts'

type AttestRequest = {
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
const passkeyEvidence = z.object({
  credential: z.looseObject({ id: z.string().max(1_400), response: z.looseObject({}) }),
})
const appAttestationEvidence = z.object({ keyId: base64, attestationObject: base64 })
const appAssertionEvidence = z.object({ keyId: base64, assertion: base64, clientData: base64 })
const playIntegrityEvidence = z.object({
  integrityToken: z.string().max(32_768),
  packageName: z.string().max(256),
  requestType: z.enum(['classic', 'standard']).default('classic'),
})

/** What evidence is verified against: the agent's settings, trust anchors, time and challenge. */
type VerificationContext = {
  readonly settings: AttestationSettings
  readonly trust: DeviceTrust
  readonly at: Date
  readonly challenge: string
  readonly baseUrl: string
  /** The key that the evidence names, when this subject registered it before. */
  readonly findKey: (keyId: string) => Promise<DeviceKey>
}

const verifyPasskeyEvidence = async (
  evidence: unknown,
  context: VerificationContext,
): Promise<AttestationResult> => {
  const { credential } = passkeyEvidence.parse(evidence)
  const own = new URL(context.baseUrl)
  const relying = {
    origins: [own.origin, ...context.settings.webauthn.origins],
    rpIds: [own.hostname, ...context.settings.webauthn.rpIds],
    requiresUserVerification: false,
  }
  const { challenge } = context
  if ('attestationObject' in credential.response)
    return verifyNewPasskey(
      { credential: credential as unknown as RegistrationResponseJSON, challenge },
      relying,
      context.trust.findCertificationLevel,
    )
  const used = { credential: credential as unknown as AuthenticationResponseJSON, challenge }
  return verifyKnownPasskey(used, await context.findKey(credential.id), relying)
}

const verifyAppEvidence = async (
  evidence: unknown,
  context: VerificationContext,
): Promise<AttestationResult> => {
  const trust: AppleTrust = { roots: context.trust.appleRoots, at: context.at, ...context.settings.appAttest }
  const fresh = appAttestationEvidence.safeParse(evidence)
  if (fresh.success) {
    const clientDataHash = createHash('sha256').update(context.challenge).digest()
    return verifyAppAttestation({ ...fresh.data, clientDataHash }, trust)
  }
  const { keyId, assertion, clientData } = appAssertionEvidence.parse(evidence)
  const known = await context.findKey(keyId.toString('base64url'))
  return verifyAppAssertion({ assertion, clientData, challenge: context.challenge }, known, trust)
}

const verifyPlayEvidence = async (
  evidence: unknown,
  context: VerificationContext,
): Promise<AttestationResult> =>
  verifyPlayIntegrity(
    { ...playIntegrityEvidence.parse(evidence), challenge: context.challenge },
    { keysOf: context.trust.playKeysOf, packages: context.settings.playIntegrity.packages, at: context.at },
  )

const verifiers = {
  webauthn: verifyPasskeyEvidence,
  app_attest: verifyAppEvidence,
  play_integrity: verifyPlayEvidence,
} as const

/** Consumes the nonce, whatever the result. */
const consumeNonce = async (tx: Tx, agentId: string, nonce: string): Promise<void> => {
  const key = { agentId, purpose: 'attest', nonce } as const
  if (await updateNonceUsed(tx, key)) return
  const known = await findNonce(tx, key)
  throw new Refusal(known?.used_at ? 'nonce_used' : 'nonce_expired')
}

type DeviceOwner = {
  readonly agentId: string
  readonly mode: Agent['mode']
  readonly method: AttestRequest['method']
  readonly subjectRef: string
}

/**
 * Stores the key or its new counter; false when it belongs to another subject or another call advanced the counter.
 */
const saveDeviceKey = async (tx: Tx, owner: DeviceOwner, key: DeviceKey): Promise<boolean> => {
  if (await insertDeviceKey(tx, owner, key)) return true
  return updateDeviceCounter(tx, owner, key)
}

const notAttested = (reason: string) => ({ attested: false, assurance: 'none' as const, reason })

/** Verifies the evidence of a device and stores its assurance for a limited time. */
export const attestVerify = async (deps: AttestDeps, agent: Agent, input: AttestRequest) => {
  const { ctx } = deps
  const { agentId, mode } = agent
  const { method, subjectRef, evidence } = input
  const owner = { agentId, mode, method, subjectRef }
  const { settings, at } = await inTransaction(ctx, agentId, async (tx) => {
    await consumeNonce(tx, agentId, input.nonce)
    return { settings: await deps.findSettings(tx, agentId), at: await readNow(tx) }
  })
  if (evidence === undefined) return notAttested('evidence_missing')
  const trust = await deps.trust
  const findKey = async (keyId: string): Promise<DeviceKey> => {
    const known = await inTransaction(ctx, agentId, (tx) => findDeviceKey(tx, owner, keyId))
    if (!known) throw new EvidenceError('key_unknown')
    return known
  }
  const context = { settings, trust, at, challenge: input.nonce, baseUrl: ctx.config.BASE_URL, findKey }
  const result = await verifyEvidence(() => verifiers[method](evidence, context))
  if (!result.attested) return notAttested(result.reason)
  const assurance = trust.capped ? 'software' : result.assurance
  return inTransaction(ctx, agentId, async (tx) => {
    if (
      result.key &&
      !(await saveDeviceKey(tx, owner, { ...result.key, assurance: cappedAssurance(result.key, trust) }))
    )
      return notAttested('key_taken')
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

const cappedAssurance = (key: DeviceKey, trust: DeviceTrust) => (trust.capped ? 'software' : key.assurance)
