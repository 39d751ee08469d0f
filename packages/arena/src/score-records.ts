// Scores a session again from its opened records, as any auditor may: for what the server's answer does not say
// (probes hit, the motion model's probability), and for servers whose worker has not scored yet.
import type { TelemetryRecord } from '@pohf/protocol/telemetry'
import { deviceScores, historyScore, scoreSession, type ScoredKind, type SessionScore } from '@pohf/scorer'
import { inputModel } from '@pohf/scorer/input-model'

/** A new visitor: no device known, no history, nothing that only the server remembers. */
export const scoreRecords = (records: readonly TelemetryRecord[], kind: ScoredKind): SessionScore =>
  scoreSession(
    records,
    {
      kind,
      device: deviceScores.none,
      history: historyScore(0, 0),
      known: [],
      answerCorrect: null,
      calibration: null,
    },
    inputModel,
  )
