import type { Mode } from '@pohf/protocol'
import {
  deviceScores,
  historyScore,
  judgeAttention,
  rulesVersion,
  type Components,
  type FlagName,
} from '@pohf/scorer'
import type { Tx } from '../../platform/db/db.ts'
import { findSession, insertScoredSession, type Session, type Telemetry } from '../../sessions/index.ts'
import { evidenceItem } from '../proof.ts'
import { publishScored } from './publish-scored.ts'
import { insertAttentionClaim } from '../store.ts'

type TaskAct = {
  readonly agentId: string
  readonly mode: Mode
  readonly taskId: string
  readonly memberRef?: string | undefined
  readonly answer: unknown
  readonly answered: boolean
  /** Null where the task has no known answer. */
  readonly correct: boolean | null
  /** The session in which the visitor's attention was recorded. */
  readonly recordedId?: string | undefined
  /** When the task was handed out: attention from before says nothing about it. */
  readonly givenAt: Date
}

/** What is known of the visitor's attention. */
type Attention = {
  readonly components: Components
  readonly flags: readonly FlagName[]
  readonly probesOffered: number
  readonly scoring: string
  readonly telemetry?: Telemetry | undefined
  readonly recordedId?: string
}
type Missing = { readonly missing: string }

const nothing: Attention = {
  components: {
    focus: 0,
    probe: null,
    input: null,
    gaze: null,
    device: deviceScores.none,
    history: historyScore(0, 0),
  },
  flags: [],
  probesOffered: 0,
  scoring: rulesVersion,
}
const simulated: Attention = { ...nothing, components: { ...nothing.components, focus: 0.97 } }

/** Why a recorded session does not stand behind this answer, in the order of its life. */
const faultOf = (session: Session | undefined, act: TaskAct): string | undefined => {
  if (!session) return 'session_unknown'
  if (session.kind !== 'task') return 'session_of_another_kind'
  if (session.workflowId !== null && session.workflowId !== act.taskId) return 'session_of_another_task'
  if (session.status === 'sealed') return 'session_used'
  if (session.status !== 'scored' || !session.components || !session.counted) return 'session_not_ready'
  if (!session.endedAt || session.endedAt < act.givenAt) return 'session_before_task'
  return undefined
}

const attentionOf = async (tx: Tx, act: TaskAct, completionOf: string): Promise<Attention | Missing> => {
  const key = { agentId: act.agentId, mode: act.mode, sessionId: act.recordedId ?? '' }
  const session = act.recordedId === undefined ? undefined : await findSession(tx, key)
  // On a test site an answer counts as attended, whatever id came with it, unless a page did record a session.
  if (act.mode === 'test' && !session?.jkt) return act.answered ? simulated : { missing: 'answer_missing' }
  if (act.recordedId === undefined) return { missing: 'attention_missing' }
  const fault = faultOf(session, act)
  if (fault !== undefined || !session?.components || !session.counted)
    return { missing: fault ?? 'session_not_ready' }
  if (!(await insertAttentionClaim(tx, key, completionOf))) return { missing: 'session_used' }
  return {
    components: session.components,
    flags: session.flags as FlagName[],
    probesOffered: session.counted.probes,
    scoring: session.scoring ?? rulesVersion,
    telemetry: session.telemetry ?? undefined,
    recordedId: session.sessionId,
  }
}

/** In the sandbox an attended answer is a right one: who tries the flow does not know our gold answers. */
const correctOf = (act: TaskAct, attention: Attention): boolean | null => {
  if (!act.answered) return false
  return attention === simulated ? true : act.correct
}

/** Scores a micro-task into a session of kind task: the attention that a page recorded, and the answer. */
export const recordTaskSession = async (
  tx: Tx,
  act: TaskAct,
): Promise<{ sessionId: string; verified: boolean; attended: boolean; reasons: string[] }> => {
  const sessionId = tx.ids.make('ses_')
  const key = { agentId: act.agentId, mode: act.mode, sessionId }
  const found = await attentionOf(tx, act, sessionId)
  const attention = 'missing' in found ? nothing : found
  const { components, flags, probesOffered, scoring, telemetry, recordedId } = attention
  const judged = judgeAttention({
    components,
    flags,
    probesOffered,
    answerCorrect: correctOf(act, attention),
  })
  const verdict = 'missing' in found ? { ...judged, reasons: [found.missing, ...judged.reasons] } : judged
  const salt = Buffer.from(tx.ids.token(), 'base64url')
  const isSimulated = act.mode === 'test' && recordedId === undefined
  await insertScoredSession(tx, key, {
    kind: 'task',
    simulated: isSimulated,
    memberRef: act.memberRef,
    workflowId: act.taskId,
    ...verdict,
    assurance: 'low',
    scoring,
    components,
    flags,
    telemetry,
    evidence: [
      evidenceItem(salt, 'answer', { task: act.taskId, answer: act.answer ?? null }),
      ...(recordedId === undefined ? [] : [evidenceItem(salt, 'telemetry', { session: recordedId })]),
      ...(isSimulated ? [evidenceItem(salt, 'simulated', { session: sessionId })] : []),
    ],
    salt,
  })
  await publishScored(tx, key, verdict)
  return {
    sessionId,
    verified: verdict.verified,
    attended: !('missing' in found),
    reasons: [...verdict.reasons],
  }
}
