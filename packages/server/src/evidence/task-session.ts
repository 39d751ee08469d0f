import type { Mode } from '@pohf/protocol'
import { deviceScores, historyScore, judgeAttention, rulesVersion } from '@pohf/scorer'
import type { Tx } from '../platform/db.ts'
import { insertScoredSession } from '../sessions/index.ts'
import { evidenceItem } from './proof.ts'
import { publishScored } from './publish-scored.ts'

type TaskAct = {
  readonly agentId: string
  readonly mode: Mode
  readonly taskId: string
  readonly memberRef?: string | undefined
  readonly answer: unknown
  /** Null where the task has no known answer. */
  readonly correct: boolean | null
  /** Whether attention was measured; on a test site an answer counts as attended. */
  readonly attended: boolean
}

/** Scores a micro-task into a session of kind task. */
export const recordTaskSession = async (
  tx: Tx,
  act: TaskAct,
): Promise<{ sessionId: string; verified: boolean; reasons: string[] }> => {
  const sessionId = tx.ids.make('ses_')
  const key = { agentId: act.agentId, mode: act.mode, sessionId }
  const components = {
    focus: act.attended ? 0.97 : 0,
    probe: null,
    input: null,
    gaze: null,
    device: deviceScores.none,
    history: historyScore(0, 0),
  }
  // In the sandbox an attended answer is a right one: who tries the flow does not know our gold answers.
  const answerCorrect = act.mode === 'test' && act.attended ? true : act.correct
  const verdict = judgeAttention({ components, flags: [], probesOffered: 0, answerCorrect })
  const salt = Buffer.from(tx.ids.token(), 'base64url')
  const simulated = act.mode === 'test'
  await insertScoredSession(tx, key, {
    kind: 'task',
    simulated,
    memberRef: act.memberRef,
    workflowId: act.taskId,
    ...verdict,
    assurance: 'low',
    scoring: rulesVersion,
    components,
    flags: [],
    evidence: [
      evidenceItem(salt, 'answer', { task: act.taskId, answer: act.answer ?? null }),
      ...(simulated ? [evidenceItem(salt, 'simulated', { session: sessionId })] : []),
    ],
    salt,
  })
  await publishScored(tx, key, verdict)
  return { sessionId, verified: verdict.verified, reasons: [...verdict.reasons] }
}
