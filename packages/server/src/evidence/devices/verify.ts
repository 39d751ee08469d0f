import { createHash } from 'node:crypto'
import { z } from 'zod'
import type { AuthenticationResponseJSON, RegistrationResponseJSON } from '@simplewebauthn/server'
import type { AttestationSettings, Mode } from '@pohf/protocol'
import { originOf } from '../../members/index.ts'
import type { Agent } from '../../platform/http/call.ts'
import type { Ctx } from '../../platform/ops/context.ts'
import { inTransaction, readNow, type Tx } from '../../platform/db/db.ts'
import { Refusal } from '../../platform/http/errors.ts'
import { publish } from '../../platform/queue/outbox.ts'
import type { AppleTrust } from './app-attest.ts'
import {
  EvidenceError,
  verifyEvidence,
  type AppRef,
  type AttestationResult,
  type DeviceKey,
} from './attestation.ts'
import type { DeviceTrust } from './attestation-trust.ts'
import type { LoadDeviceTrust } from './device-trust.ts'
import { verifyPlayIntegrity } from './play-integrity.ts'
import { attestationDays } from '../rules.ts'
import {
  findDeviceKey,
  insertDeviceKey,
  isAdmitted,
  isDeviceShared,
  updateDeviceAttestation,
  updateDeviceCounter,
  type DeviceOwner,
  type KeyOwner,
  type VerdictRoot,
} from './store.ts'
import { findNonce, updateNonceUsed } from '../store.ts'
import type { RelyingParty } from './webauthn.ts'

type AttestRequest = {
  readonly method: 'webauthn' | 'play_integrity' | 'app_attest'
  readonly nonce: string
  readonly subjectRef: string
  readonly evidence?: unknown
}
export type AttestDeps = {
  readonly ctx: Ctx
  readonly loadTrust: LoadDeviceTrust
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
  readonly relying: RelyingParty
  /** The key that the evidence names, when it was registered before. */
  readonly findKey: (keyId: string) => Promise<DeviceKey>
}

const verifyPasskeyEvidence = async (
  evidence: unknown,
  { challenge, relying, ...context }: VerificationContext,
): Promise<AttestationResult> => {
  const { credential } = passkeyEvidence.parse(evidence)
  const { verifyKnownPasskey, verifyNewPasskey } = await import('./webauthn.ts')
  if ('attestationObject' in credential.response)
    return verifyNewPasskey(
      { credential: credential as unknown as RegistrationResponseJSON, challenge },
      relying,
      context.trust.findModel,
    )
  const used = { credential: credential as unknown as AuthenticationResponseJSON, challenge }
  const { findModel } = context.trust
  return verifyKnownPasskey(used, await context.findKey(credential.id), { relying, findModel })
}

const verifyAppEvidence = async (
  evidence: unknown,
  context: VerificationContext,
): Promise<AttestationResult> => {
  const trust: AppleTrust = { roots: context.trust.appleRoots, at: context.at, ...context.settings.appAttest }
  const fresh = appAttestationEvidence.safeParse(evidence)
  const { verifyAppAssertion, verifyAppAttestation } = await import('./app-attest.ts')
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

/** Consumes the nonce, whatever the result. Returns the challenge that the device signs, its subject and its session. */
export const consumeNonce = async (tx: Tx, agentId: string, nonce: string) => {
  const key = { agentId, purpose: 'attest', nonce } as const
  const consumed = await updateNonceUsed(tx, key)
  const known = await findNonce(tx, key)
  if (!consumed || !known) throw new Refusal(known?.used_at ? 'nonce_used' : 'nonce_expired')
  return { challenge: known.message ?? nonce, subjectRef: known.member_ref, sessionId: known.session_id }
}

/**
 * Stores the key or its new counter; false when it belongs to another subject or another call advanced the counter.
 */
const saveDeviceKey = async (tx: Tx, owner: KeyOwner, key: DeviceKey): Promise<boolean> => {
  if (await insertDeviceKey(tx, owner, key)) return true
  return updateDeviceCounter(tx, owner, key)
}

const notAttested = (reason: string) => ({ attested: false, assurance: 'none' as const, reason })

/** The root that a verdict shows for its act, or the reason why it shows none. */
export const countedRootOf = (
  { root, key }: Pick<Extract<AttestationResult, { attested: true }>, 'root' | 'key'>,
  act: { readonly mode: Mode; readonly sessionId: string | null; readonly isAdmitted: boolean },
): { readonly root: VerdictRoot } | { readonly reason: string } => {
  if (!root) return { reason: 'device_unproven' }
  // The sandbox simulates acts: there is no session to bind to, and nothing to protect.
  if (act.mode === 'live' && act.sessionId === null) return { reason: 'not_bound' }
  if (act.mode === 'live' && !act.isAdmitted) return { reason: 'app_not_admitted' }
  return { root: { name: root.name, key: key?.keyId } }
}

/** Our own pages need no admission. */
const isOwnRpId = (config: Ctx['config'], { kind, name }: AppRef): boolean =>
  kind === 'rp_id' && [new URL(config.BASE_URL).hostname, originOf(config).rpId].includes(name)

type VerdictRequest = {
  readonly owner: DeviceOwner
  readonly keyOwner: KeyOwner
  readonly evidence: unknown
  /** The session to which the challenge is bound. */
  readonly sessionId: string | null
  readonly challenge: string
  readonly settings: AttestationSettings
  readonly relying: RelyingParty
  readonly at: Date
  /** Whether a key that cannot be a root is stored too. */
  readonly keepsAnyKey: boolean
}

/**
 * Verifies the evidence of a device and stores its verdict for a limited time. A key of the step-up page belongs to the
 * platform agent, so the transactions are the system's; each row is found by its own agent.
 */
export const saveVerdict = async (deps: Pick<AttestDeps, 'ctx' | 'loadTrust'>, request: VerdictRequest) => {
  const { ctx } = deps
  const { owner, keyOwner, evidence, sessionId, challenge, settings, relying, at } = request
  const trust = await deps.loadTrust()
  const findKey = async (keyId: string): Promise<DeviceKey> => {
    const known = await inTransaction(ctx, 'system', (tx) => findDeviceKey(tx, keyOwner, keyId))
    if (!known) throw new EvidenceError('key_unknown')
    return known
  }
  const context = { settings, trust, at, challenge, relying, findKey }
  const result = await verifyEvidence(() => verifiers[owner.method](evidence, context))
  if (!result.attested) return notAttested(result.reason)
  const capped = trust.capped ? { assurance: 'software' as const, model: undefined } : {}
  const assurance = capped.assurance ?? result.assurance
  return inTransaction(ctx, 'system', async (tx) => {
    const isKept = request.keepsAnyKey || (result.root !== undefined && !trust.capped)
    if (isKept && result.key && !(await saveDeviceKey(tx, keyOwner, { ...result.key, ...capped })))
      return notAttested('key_taken')
    const { agentId, mode, method, subjectRef } = owner
    const app = trust.capped ? undefined : result.root?.app
    const shown = countedRootOf(app ? result : {}, {
      mode,
      sessionId,
      isAdmitted: app !== undefined && (isOwnRpId(ctx.config, app) || (await isAdmitted(tx, agentId, app))),
    })
    const verdict = { assurance, days: attestationDays[method], sessionId }
    await updateDeviceAttestation(tx, owner, { ...verdict, root: 'root' in shown ? shown.root : undefined })
    const isShared = 'root' in shown && (await isDeviceShared(tx, owner))
    if (isShared)
      await updateDeviceAttestation(tx, owner, { ...verdict, root: { ...shown.root, name: undefined } })
    const reason = isShared ? 'device_shared' : 'reason' in shown ? shown.reason : undefined
    await publish(tx, {
      agentId,
      mode,
      subject: subjectRef,
      type: 'device.attested',
      data: { subjectRef, method, assurance },
    })
    return { attested: true, assurance, ...(reason === undefined ? {} : { reason }) }
  })
}

/** Verifies what an agent brings from a device. */
export const attestVerify = async (deps: AttestDeps, agent: Agent, input: AttestRequest) => {
  const { ctx } = deps
  const { agentId, mode } = agent
  const { method, subjectRef, evidence } = input
  const { settings, at, asked } = await inTransaction(ctx, agentId, async (tx) => ({
    asked: await consumeNonce(tx, agentId, input.nonce),
    settings: await deps.findSettings(tx, agentId),
    at: await readNow(tx),
  }))
  if (evidence === undefined) return notAttested('evidence_missing')
  if (asked.subjectRef !== null && asked.subjectRef !== subjectRef) return notAttested('challenge_mismatch')
  const own = new URL(ctx.config.BASE_URL)
  const owner = { agentId, mode, method, subjectRef }
  const { sessionId, challenge } = asked
  return saveVerdict(deps, {
    owner,
    keyOwner: { ...owner, isAnySubject: sessionId !== null },
    evidence,
    sessionId,
    challenge,
    settings,
    relying: {
      origins: [own.origin, ...settings.webauthn.origins],
      rpIds: [own.hostname, ...settings.webauthn.rpIds],
      requiresUserVerification: false,
    },
    at,
    keepsAnyKey: true,
  })
}
