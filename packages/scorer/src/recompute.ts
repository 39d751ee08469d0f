// Scores a session again from its opened records and compares the result with what was signed.
import type { TelemetryRecord } from '@pohf/protocol/telemetry'
import { deviceScores, flagCaps, historyScore, type FlagName } from './quality.ts'
import { readScoringName, scoreSession, serverFlags, type InputModel, type SessionScore } from './score.ts'
import { requiredVisibleMs, type ScoredKind } from './visible.ts'

/** The score as a credential, or the session resource, states it. */
export type ClaimedScore = {
  readonly quality?: number | undefined
  readonly components?: Readonly<Record<string, number | null>> | undefined
  readonly flags?: readonly string[] | undefined
  readonly scoring?: string | undefined
}

export type RecomputeResult =
  | {
      readonly type: 'scored'
      readonly score: SessionScore
      /** Taken from the service: no record shows them. */
      readonly assumed: {
        readonly device: number
        readonly history: number
        readonly known: readonly FlagName[]
      }
      /** Where the claim and the result differ; empty where every number is the same, null where nothing was claimed. */
      readonly differences: readonly string[] | null
    }
  | { readonly type: 'unknown'; readonly reason: string }

const isKind = (kind: string): kind is ScoredKind => Object.hasOwn(requiredVisibleMs, kind)
const isFlag = (flag: string): flag is FlagName => Object.hasOwn(flagCaps, flag)

const differencesOf = (claimed: ClaimedScore, score: SessionScore): string[] => {
  const pairs: (readonly [string, unknown, unknown])[] = [['quality', claimed.quality, score.quality]]
  for (const [name, value] of Object.entries(score.components))
    pairs.push([name, claimed.components?.[name] ?? null, value])
  pairs.push(['flags', (claimed.flags ?? []).toSorted().join(' '), score.flags.toSorted().join(' ')])
  return pairs.flatMap(([name, said, found]) =>
    Object.is(said, found) ? [] : [`${name}: ${String(said)} was signed, ${String(found)} comes out`],
  )
}

/** Recomputes a score from a session and its credential, bit for bit as the service does, and lists the differences. */
export const recompute = (
  records: readonly TelemetryRecord[],
  kind: string,
  claimed: ClaimedScore | null,
  model: InputModel,
): RecomputeResult => {
  if (!isKind(kind))
    return { type: 'unknown', reason: `sessions of kind ${kind} are not scored from records` }
  const named =
    claimed?.scoring === undefined ? { calibration: null } : readScoringName(claimed.scoring, model.version)
  if (!named)
    return {
      type: 'unknown',
      reason: `it was scored by ${claimed?.scoring ?? 'another version'}, not by this version`,
    }
  const assumed = {
    device: claimed?.components?.['device'] ?? deviceScores.none,
    history: claimed?.components?.['history'] ?? historyScore(0, 0),
    known: (claimed?.flags ?? []).filter(isFlag).filter((flag) => serverFlags.includes(flag)),
  }
  const score = scoreSession(records, { kind, ...assumed, answerCorrect: null, ...named }, model)
  return { type: 'scored', score, assumed, differences: claimed && differencesOf(claimed, score) }
}
