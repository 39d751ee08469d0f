import type { Mode } from '@pohf/protocol'
import type { TaskReason } from '@pohf/protocol/reasons'
import {
  deviceScores,
  historyScore,
  evaluateAttention,
  rulesVersion,
  type Components,
  type FlagName,
} from '@pohf/scorer'
import { readNow, type Tx } from '../../platform/db/db.ts'
import type { Roots } from '../../roots/index.ts'
import { findSession, insertScoredSession, type Session, type Telemetry } from '../../sessions/index.ts'
import { copyVerdicts } from '../devices/store.ts'
import { evidenceItem } from '../proof.ts'
import { publishScores } from './publish-scored.ts'
import { insertAttentionClaim } from './store.ts'

type TaskCompletion = {
  readonly agentId: string
  readonly mode: Mode
  readonly taskId: string
  readonly memberRef?: string | undefined
  readonly answer: unknown
  readonly answered: boolean
  /** Null where the task has no known answer. */
  readonly correct: boolean | null
  /** The session in which the visitor's attention was recorded. */
  readonly recordedSessionId?: string | undefined
  /** When the task was assigned: earlier attention does not count. */
  readonly assignedAt: Date
}

/** The visitor's attention. */
type Attention = {
  readonly components: Components
  readonly flags: readonly FlagName[]
  /** Of the recording; undefined where there is none. */
  readonly counted?: Session['counted']
  readonly scoring: string
  readonly telemetry?: Telemetry | undefined
  readonly recordedId?: string
  readonly recordedAt?: Date
}
type MissingAttention = { readonly missing: TaskReason }

const noAttention: Attention = {
  components: {
    focus: 0,
    probe: null,
    input: null,
    gaze: null,
    device: deviceScores.none,
    history: historyScore(0, 0),
  },
  flags: [],
  scoring: rulesVersion,
}
const sandboxAttention: Attention = { ...noAttention, components: { ...noAttention.components, focus: 0.97 } }

/** Why a recorded session does not support this answer, in the order of its lifecycle. */
const attentionFaultOf = (
  session: Session | undefined,
  completion: TaskCompletion,
): TaskReason | undefined => {
  if (!session) return 'session_unknown'
  if (session.kind !== 'task') return 'session_of_another_kind'
  if (session.workflowId !== null && session.workflowId !== completion.taskId)
    return 'session_of_another_task'
  if (session.status === 'sealed') return 'session_used'
  if (session.status !== 'scored' || !session.components || !session.counted) return 'session_not_ready'
  if (!session.endedAt || session.endedAt < completion.assignedAt) return 'session_before_task'
  return undefined
}

/** The attention of a recorded session. */
const recordedAttention = (
  session: Session | undefined,
  completion: TaskCompletion,
): Attention | MissingAttention => {
  const fault = attentionFaultOf(session, completion)
  if (fault !== undefined || !session?.components || !session.counted)
    return { missing: fault ?? 'session_not_ready' }
  return {
    components: session.components,
    flags: session.flags as FlagName[],
    counted: session.counted,
    scoring: session.scoring ?? rulesVersion,
    telemetry: session.telemetry ?? undefined,
    recordedId: session.sessionId,
    recordedAt: session.at,
  }
}

const findAttention = async (
  tx: Tx,
  completion: TaskCompletion,
  completionOf: string,
): Promise<Attention | MissingAttention> => {
  const key = {
    agentId: completion.agentId,
    mode: completion.mode,
    sessionId: completion.recordedSessionId ?? '',
  }
  const session = completion.recordedSessionId === undefined ? undefined : await findSession(tx, key)
  // On a test site an answer counts as attended, whatever id was sent, unless a page recorded a session.
  if (completion.mode === 'test' && !session?.jkt)
    return completion.answered ? sandboxAttention : { missing: 'answer_missing' }
  if (completion.recordedSessionId === undefined) return { missing: 'attention_missing' }
  const found = recordedAttention(session, completion)
  if ('missing' in found) return found
  return (await insertAttentionClaim(tx, key, completionOf)) ? found : { missing: 'session_used' }
}

/** In the sandbox an attended answer is correct: developers do not know the known answers. */
const isAnswerCorrect = (completion: TaskCompletion, attention: Attention): boolean | null => {
  if (!completion.answered) return false
  return attention === sandboxAttention ? true : completion.correct
}

type RecordedTask = {
  readonly sessionId: string
  readonly verified: boolean
  readonly attended: boolean
  readonly reasons: readonly string[]
}
type TaskRoots = Pick<Roots, 'replace'>

const verdictOf = (found: Attention | MissingAttention, answerCorrect: boolean | null) => {
  const { components, flags, counted } = 'missing' in found ? noAttention : found
  const evaluated = evaluateAttention({
    components,
    flags,
    probesOffered: counted?.probes ?? 0,
    oneProbe: counted?.returning ?? false,
    answerCorrect,
  })
  return 'missing' in found ? { ...evaluated, reasons: [found.missing, ...evaluated.reasons] } : evaluated
}

/** Stores the session of a completion, and gives it the networks, the reservation and the device of its recording. */
const insertTaskSession = async (
  tx: Tx,
  roots: TaskRoots,
  completion: TaskCompletion & { readonly sessionId: string },
  found: Attention | MissingAttention,
): Promise<RecordedTask> => {
  const { sessionId } = completion
  const key = { agentId: completion.agentId, mode: completion.mode, sessionId }
  const attention = 'missing' in found ? noAttention : found
  const { components, flags, counted, scoring, telemetry, recordedId, recordedAt } = attention
  const verdict = verdictOf(found, isAnswerCorrect(completion, attention))
  const salt = Buffer.from(tx.ids.random(), 'base64url')
  const isSimulated = completion.mode === 'test' && recordedId === undefined
  await insertScoredSession(tx, key, {
    kind: 'task',
    simulated: isSimulated,
    memberRef: completion.memberRef,
    workflowId: completion.taskId,
    ...verdict,
    assurance: 'low',
    scoring,
    components,
    flags,
    telemetry,
    counted: counted ?? undefined,
    evidence: [
      evidenceItem(salt, 'answer', { task: completion.taskId, answer: completion.answer ?? null }),
      ...(recordedId === undefined ? [] : [evidenceItem(salt, 'telemetry', { session: recordedId })]),
      ...(isSimulated ? [evidenceItem(salt, 'simulated', { session: sessionId })] : []),
    ],
    salt,
  })
  await publishScores(tx, [{ key, verdict }])
  if (recordedAt !== undefined && recordedId !== undefined && completion.mode === 'live') {
    await roots.replace(tx, { sessionId: recordedId, at: recordedAt }, { sessionId, at: await readNow(tx) })
    await copyVerdicts(tx, completion, { subjectRef: recordedId, sessionId: recordedId }, sessionId)
  }
  return {
    sessionId,
    verified: verdict.verified,
    attended: !('missing' in found),
    reasons: [...verdict.reasons],
  }
}

/** Scores a micro-task into a session of kind task, from the recorded attention and the answer. */
export const recordTaskSession = async (
  tx: Tx,
  roots: TaskRoots,
  completion: TaskCompletion,
): Promise<RecordedTask> => {
  const sessionId = tx.ids.make('ses_')
  const found = await findAttention(tx, completion, sessionId)
  return insertTaskSession(tx, roots, { ...completion, sessionId }, found)
}

/**
 * Claims the attention for an answer whose correctness is not known yet. The session is stored at once if the attention
 * would not suffice even for a right answer, and in the sandbox, where every answer is right.
 */
export const holdTaskAttention = async (
  tx: Tx,
  roots: TaskRoots,
  completion: TaskCompletion,
): Promise<RecordedTask | { readonly heldFor: string }> => {
  const sessionId = tx.ids.make('ses_')
  const found = await findAttention(tx, completion, sessionId)
  const isEnough = !('missing' in found) && verdictOf(found, true).verified
  if (isEnough && found !== sandboxAttention) return { heldFor: sessionId }
  return insertTaskSession(tx, roots, { ...completion, sessionId }, found)
}

/** Stores the session for which the attention was claimed, now that it is known whether the answer is right. */
export const recordHeldTask = async (
  tx: Tx,
  roots: TaskRoots,
  completion: TaskCompletion & { readonly sessionId: string },
): Promise<RecordedTask> => {
  const { agentId, mode, recordedSessionId = '' } = completion
  const session = await findSession(tx, { agentId, mode, sessionId: recordedSessionId })
  return insertTaskSession(tx, roots, completion, recordedAttention(session, completion))
}
