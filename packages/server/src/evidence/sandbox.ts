import type { Agent } from '../platform/call.ts'
import type { Tx } from '../platform/db.ts'
import { publish } from '../platform/outbox.ts'
import {
  findSession,
  insertScoredSession,
  insertUnscoredSession,
  type Components,
  type Session,
} from '../sessions/index.ts'
import { evidenceItem, singleChunkTelemetry } from './proof.ts'
import { deviceScores, historyScore, judgeAttention, probeScore, scoring, type FlagName } from './rules.ts'

type Act = {
  readonly components: Components
  readonly flags: readonly FlagName[]
  readonly probesOffered: number
}

/** An attentive person at the keyboard: no pointer motion, three probes of three answered. */
const attentive: Act = {
  components: {
    focus: 0.97,
    probe: probeScore(3, 3),
    input: null,
    gaze: null,
    device: deviceScores.none,
    history: historyScore(0, 0),
  },
  flags: [],
  probesOffered: 3,
}
const absent: Act = {
  components: {
    focus: 0.3,
    probe: probeScore(0, 3),
    input: null,
    gaze: null,
    device: deviceScores.none,
    history: historyScore(0, 0),
  },
  flags: ['background', 'probe_missed'],
  probesOffered: 3,
}
const automated: Act = { ...attentive, flags: ['automation_env', 'replay_match'] }

/** What a named id stands for; every other text is an attentive person. */
const namedActs = new Map<string, Act>([
  ['ses_test_pass', attentive],
  ['ses_test_low_quality', absent],
  ['ses_test_fraud', automated],
])
const namedStates = new Map<string, 'open' | 'expired'>([
  ['ses_test_pending', 'open'],
  ['ses_test_expired', 'expired'],
])

/** What the scorer says of the attentive person: the sandbox's answer where only a member is named. */
export const simulatedAttention = () => judgeAttention({ ...attentive, answerCorrect: null })

type Key = { readonly agentId: string; readonly mode: Agent['mode']; readonly sessionId: string }

const store = async (tx: Tx, key: Key, challenge: string | undefined): Promise<void> => {
  const state = namedStates.get(key.sessionId)
  if (state) return insertUnscoredSession(tx, key, { kind: 'view', status: state, simulated: true })
  const act = namedActs.get(key.sessionId) ?? attentive
  const verdict = judgeAttention({ ...act, answerCorrect: null })
  const salt = Buffer.from(tx.ids.token(), 'base64url')
  const stored = await insertScoredSession(tx, key, {
    kind: 'view',
    simulated: true,
    challenge,
    ...verdict,
    assurance: 'low',
    scoring,
    components: act.components,
    flags: act.flags,
    telemetry: singleChunkTelemetry(salt, { simulated: true, components: act.components }),
    evidence: [evidenceItem(salt, 'simulated', { session: key.sessionId })],
    salt,
  })
  if (stored) await publishScored(tx, key, verdict)
}

/** Tells the agent how a session was scored. */
export const publishScored = async (
  tx: Tx,
  key: Key,
  verdict: { readonly quality: number; readonly verified: boolean; readonly reasons: readonly string[] },
): Promise<void> => {
  const subject = { agentId: key.agentId, mode: key.mode, subject: key.sessionId }
  const { quality } = verdict
  if (verdict.verified)
    await publish(tx, { ...subject, type: 'session.scored', data: { sessionId: key.sessionId, quality } })
  else
    await publish(tx, {
      ...subject,
      type: 'session.rejected',
      data: { sessionId: key.sessionId, quality, reasons: [...verdict.reasons] },
    })
}

/** The session behind an id. To a test key an unknown id is a simulated act, stored as it is first asked for. */
export const resolveSession = async (
  tx: Tx,
  agent: Pick<Agent, 'agentId' | 'mode'>,
  sessionId: string,
  challenge?: string,
): Promise<Session | undefined> => {
  const key = { agentId: agent.agentId, mode: agent.mode, sessionId }
  const found = await findSession(tx, key)
  if (found || agent.mode === 'live' || sessionId === 'ses_test_unknown') return found
  await store(tx, key, challenge)
  return findSession(tx, key)
}
