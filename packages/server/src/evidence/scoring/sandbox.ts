import type { Agent } from '../../platform/http/call.ts'
import type { Tx } from '../../platform/db/db.ts'
import {
  findSession,
  insertScoredSession,
  insertUnscoredSession,
  type Session,
} from '../../sessions/index.ts'
import { evidenceItem, singleChunkTelemetry } from '../proof.ts'
import { publishScores, type ScoredSessionKey } from './publish-scored.ts'
import { scoreProfile, type Profile } from './simulated.ts'

/** Ids with this prefix are reserved: one that is not listed below does not exist, so that a wrong guess shows. */
const reservedPrefix = 'ses_test_'
/** The reserved ids. Any id without the prefix is an attentive person. */
export const reservedSessions: ReadonlyMap<string, Profile | 'open' | 'expired'> = new Map([
  ['ses_test_pass', 'human'],
  ['ses_test_low_quality', 'idle'],
  ['ses_test_fraud', 'bot'],
  ['ses_test_pending', 'open'],
  ['ses_test_expired', 'expired'],
])

/** Whether an id always has the same outcome, however often and late it is used. */
export const isReservedSession = (sessionId: string): boolean => reservedSessions.has(sessionId)

/** The score of the attentive profile, used in the sandbox when only a member is named. */
export const simulatedAttention = () => scoreProfile('human')

type SimulatedSession = {
  readonly profile: Profile
  readonly kind?: 'view' | 'work' | 'approval'
  readonly challenge?: string | undefined
}
/** Stores a scored simulated session, unless its id was used before. */
export const insertSimulatedSession = async (
  tx: Tx,
  key: ScoredSessionKey,
  { profile, kind = 'view', challenge }: SimulatedSession,
): Promise<void> => {
  const { quality, verified, reasons, assurance, scoring, components, flags } = scoreProfile(profile)
  const salt = Buffer.from(tx.ids.random(), 'base64url')
  const stored = await insertScoredSession(tx, key, {
    kind,
    simulated: true,
    challenge,
    quality,
    verified,
    reasons,
    assurance,
    scoring,
    components,
    flags,
    telemetry: singleChunkTelemetry(salt, { simulated: true, profile, components }),
    evidence: [evidenceItem(salt, 'simulated', { session: key.sessionId })],
    salt,
  })
  if (stored) await publishScores(tx, [{ key, verdict: { quality, verified, reasons } }])
}

/** Finds a session. To a test key an id of its own choice is a simulated session, stored on first use. */
export const resolveSession = async (
  tx: Tx,
  agent: Pick<Agent, 'agentId' | 'mode'>,
  sessionId: string,
  challenge?: string,
): Promise<Session | undefined> => {
  const key = { agentId: agent.agentId, mode: agent.mode, sessionId }
  if (agent.mode === 'live') return findSession(tx, key)
  const reserved = reservedSessions.get(sessionId)
  if (reserved === undefined && sessionId.startsWith(reservedPrefix)) return undefined
  const found = await findSession(tx, key)
  if (found) return found
  if (reserved === 'open' || reserved === 'expired')
    await insertUnscoredSession(tx, key, { kind: 'view', status: reserved, simulated: true })
  else await insertSimulatedSession(tx, key, { profile: reserved ?? 'human', challenge })
  return findSession(tx, key)
}
