// Writes what was measured into docs/evidence/motion.md, between its markers, and draws the pictures.
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { WINDOW_SECONDS } from '../../packages/scorer/src/features.ts'
import { type Evaluation, type FamilyResult, HUMAN_DERIVED, type Rates } from './motion/evaluate.ts'
import type { ExperimentResult } from './motion/experiments.ts'
import { drawEqualError, drawTradeOff } from './charts.ts'
import { PASSING, type FalseRejectionsAtLength, type FalseRejections } from './motion/false-rejections.ts'
import type { ProbeRates, SequenceName } from './probes.ts'
import type { ReplayReport } from './replay/measure.ts'
import type { SessionRates } from './motion/sessions.ts'

export type EvidenceMeasurements = {
  readonly model: string
  readonly evaluation: Evaluation
  readonly sessions: readonly SessionRates[]
  readonly ideas: readonly ExperimentResult[]
  readonly replay: ReplayReport
  readonly probes: ProbeRates
  readonly lost: FalseRejections
  readonly sessionsPerSecond: number
}

const percent = (rate: number, digits = 1) => `${(100 * rate).toFixed(digits)} %`
const formatInterval = ([low, high]: readonly [number, number]) =>
  `${(100 * low).toFixed(1)}–${(100 * high).toFixed(1)}`
const table = (head: readonly string[], rows: readonly (readonly string[])[]) =>
  [head, head.map(() => '---'), ...rows].map((cells) => `| ${cells.join(' | ')} |`).join('\n')

/** The worst rate of the synthetic families at a length. */
function worst(
  families: readonly FamilyResult[],
  seconds: number,
  rate: (result: FamilyResult) => number,
): number {
  return Math.max(
    ...families
      .filter((result) => result.seconds === seconds && !HUMAN_DERIVED.includes(result.family))
      .map(rate),
  )
}

type Goal = {
  readonly bar: string
  readonly goal: string
  readonly met: (rate: number) => boolean
  readonly rate: number
  /** The same against people on the frame clock, where there is such a thing. */
  readonly reclocked?: number
  readonly digits?: number
}

function goalRow({ bar, goal, met, rate, reclocked, digits = 1 }: Goal): string[] {
  const verdict = !met(rate)
    ? '**missed**'
    : reclocked !== undefined && !met(reclocked)
      ? 'met as recorded, **missed** on the frame clock'
      : 'met'
  return [
    bar,
    goal,
    percent(rate, digits),
    reclocked === undefined ? '' : percent(reclocked, digits),
    verdict,
  ]
}

function goalRows({ evaluation: { families }, replay, probes }: EvidenceMeasurements): string[][] {
  const morph = families.find(({ family, seconds }) => family === 'stroke_morph' && seconds === 10)
  const synthetic = (share: 95 | 99, seconds: number, limit: number): Goal => {
    const rate = (rates: Rates) => (share === 95 ? rates.lostAt95 : rates.lostAt99)
    return {
      bar: `people lost at ${share} % rejection of the worst synthetic family, ${seconds} s`,
      goal: `≤ ${100 * limit} %`,
      met: (value) => value <= limit,
      rate: worst(families, seconds, rate),
      reclocked: worst(families, seconds, ({ reclocked }) => rate(reclocked)),
    }
  }
  const goals: Goal[] = [
    synthetic(99, 10, 0.005),
    synthetic(95, 3, 0.015),
    synthetic(99, 3, 0.03),
    {
      bar: 'equal error of stroke morph, 10 s',
      goal: '< 10 %',
      met: (value) => value < 0.1,
      rate: morph?.eer ?? 1,
      reclocked: morph?.reclocked.eer ?? 1,
    },
    {
      bar: 'replay with at most 1 px of jitter found',
      goal: '≥ 97 %',
      met: (value) => value >= 0.97,
      rate: replay.detection,
    },
    {
      bar: 'innocent session taken for a replay (upper bound)',
      goal: '≤ 0.01 %',
      met: (value) => value <= 1e-4,
      rate: replay.falseAlarm,
      digits: 4,
    },
    {
      bar: 'questions of a new visitor, mean person passes (computed)',
      goal: '≥ 99.5 %',
      met: (value) => value >= 0.995,
      rate: probes.newVisitor.pass,
      digits: 2,
    },
    {
      bar: 'questions of a new visitor, worst of 33 passes (computed)',
      goal: '≥ 97 %',
      met: (value) => value >= 0.97,
      rate: probes.newVisitor.worst,
      digits: 2,
    },
  ]
  return goals.map(goalRow)
}

function familyTable(families: readonly FamilyResult[], seconds: number): string {
  return table(
    [
      'Unseen family',
      'Windows: bots / people',
      'AUC',
      'EER (95 %)',
      'Lost at 95 %',
      'Lost at 99 % (95 %)',
      'Lost at 99 %, frame clock',
      'Pass at 1 % lost',
    ],
    families
      .filter((result) => result.seconds === seconds)
      .map((result) => [
        HUMAN_DERIVED.includes(result.family) ? `**${result.family}**` : result.family,
        `${result.botWindows} / ${result.peopleWindows}`,
        result.auc.toFixed(4),
        `${percent(result.eer)} (${formatInterval(result.intervals.eer)})`,
        percent(result.lostAt95),
        `${percent(result.lostAt99)} (${formatInterval(result.intervals.lostAt99)})`,
        percent(result.reclocked.lostAt99),
        percent(result.passAt1),
      ]),
  )
}

const capturedTable = (rows: EvidenceMeasurements['evaluation']['captured']): string =>
  table(
    [
      'Family, captured in Chromium',
      'Seconds',
      'Windows',
      'Rejected where 5 % of people are lost',
      'where 1 % are lost',
    ],
    rows.map((row) => [
      row.family,
      `${row.seconds}`,
      `${row.windows}`,
      percent(row.rejectedAt5, 0),
      percent(row.rejectedAt1, 0),
    ]),
  )

const sessionTable = (rows: EvidenceMeasurements['sessions']): string =>
  table(
    [
      'Whole sessions, shipped model',
      'Sessions',
      'Judged (1 s)',
      '3 s or more',
      'Flagged `synthetic_motion`',
      'Median p',
    ],
    rows.map((row) => [
      row.who,
      `${row.sessions}`,
      `${row.scored}`,
      `${row.longEnough}`,
      `${row.flagged}`,
      Number.isNaN(row.medianP) ? '–' : row.medianP.toFixed(3),
    ]),
  )

const experimentTable = (rows: EvidenceMeasurements['ideas']): string =>
  table(
    [
      'Against stroke morph',
      'Seconds',
      'EER, people as recorded',
      'EER, people on the frame clock',
      'EER, training people left out',
    ],
    rows.map((row) => [
      row.idea,
      `${row.seconds}`,
      percent(row.eer),
      percent(row.eerReclocked),
      percent(row.eerTraining),
    ]),
  )

const sequenceTitles: Readonly<Record<SequenceName, string>> = {
  before: 'before: 3 questions, after fewer than 2 hits 3 more',
  newVisitor: 'new visitor: 2/2, 2/3 or 4/6',
  returning: 'returning browser: 1/1, after a miss as new',
}
const sequenceNames = ['before', 'newVisitor', 'returning'] as const satisfies readonly SequenceName[]

const probeTable = (probes: ProbeRates): string =>
  table(
    ['Sequence', 'Questions (mean)', 'Mean person is lost', 'Worst of 33 is lost', 'A blind guess passes'],
    sequenceNames.map((name) => [
      sequenceTitles[name],
      probes[name].questions.toFixed(2),
      percent(1 - probes[name].pass, 4),
      percent(1 - probes[name].worst, 3),
      percent(probes[name].guess),
    ]),
  )

const lostRow = (row: FalseRejectionsAtLength, clock: string): string[] => [
  `${row.seconds}`,
  clock,
  `${row.windows}`,
  ...PASSING.map((ending) => percent(row.byEnding[ending] ?? 0, 2)),
  ...sequenceNames.map((name) => percent(row.bySequence[name], 2)),
]

const lostTable = ({ recorded, reclocked }: FalseRejections): string =>
  table(
    [
      'Seconds of motion',
      'People',
      'Windows',
      ...PASSING.map((ending) => `Rejected at ${ending}`),
      'Lost before',
      'Lost, new visitor',
      'Lost, returning',
    ],
    recorded.flatMap((row, index) => {
      const other = reclocked[index]
      return [lostRow(row, 'as recorded'), ...(other ? [lostRow(other, 'frame clock')] : [])]
    }),
  )

/** The text of each section of docs/evidence/motion.md, by the name of its marker. */
function sections(measured: EvidenceMeasurements): Map<string, string> {
  const { evaluation, sessions, ideas, sessionsPerSecond } = measured
  const families = WINDOW_SECONDS.map(
    (seconds) => `### ${seconds} s of motion\n\n${familyTable(evaluation.families, seconds)}`,
  )
  return new Map([
    ['goals', table(['Bar', 'Goal', 'People as recorded', 'On the frame clock', ''], goalRows(measured))],
    ['families', families.join('\n\n')],
    ['captured', capturedTable(evaluation.captured)],
    ['sessions', sessionTable(sessions)],
    ['ideas', experimentTable(ideas)],
    ['probes', probeTable(measured.probes)],
    ['lost', lostTable(measured.lost)],
    [
      'speed',
      `Measured with the tables: ${Math.round(sessionsPerSecond)} sessions of one minute scored per second of one core's time.`,
    ],
  ])
}

const line = (cells: readonly string[]) =>
  cells.map((cell, index) => (index === 0 ? cell.padEnd(17) : cell.padStart(9))).join(' ')

export function printTable({ evaluation }: EvidenceMeasurements): string {
  return [
    line(['family', 'seconds', 'windows', 'AUC', 'EER', 'lost@95', 'lost@99']),
    ...evaluation.families.map((row) =>
      line([
        row.family,
        `${row.seconds}`,
        `${row.botWindows}`,
        row.auc.toFixed(4),
        percent(row.eer),
        percent(row.lostAt95),
        percent(row.lostAt99),
      ]),
    ),
  ].join('\n')
}

export function writeReport(root: string, measured: EvidenceMeasurements): void {
  const file = join(root, 'docs/evidence/motion.md')
  let text = readFileSync(file, 'utf8')
  for (const [name, content] of sections(measured)) {
    const begin = `<!-- evidence:${name} -->`
    const end = `<!-- /evidence:${name} -->`
    const [from, until] = [text.indexOf(begin), text.indexOf(end)]
    if (from < 0 || until < from) throw new Error(`docs/evidence/motion.md has no place for ${name}`)
    text = `${text.slice(0, from + begin.length)}\n\n${content}\n\n${text.slice(until)}`
  }
  writeFileSync(file, text)
  const folder = join(root, 'docs/evidence')
  mkdirSync(folder, { recursive: true })
  writeFileSync(join(folder, 'equal-error.svg'), drawEqualError(measured.evaluation.families))
  writeFileSync(join(folder, 'trade-off.svg'), drawTradeOff(measured.evaluation.families))
}

/** The one object that other programs read. */
export function toJson({
  model,
  evaluation,
  replay,
  probes,
  lost,
  sessionsPerSecond,
}: EvidenceMeasurements): string {
  return JSON.stringify({
    model,
    families: evaluation.families.map((row) => ({
      family: row.family,
      seconds: row.seconds,
      auc: row.auc,
      eer: row.eer,
      humansLostAt95: row.lostAt95,
      humansLostAt99: row.lostAt99,
    })),
    replay: { detection: replay.detection, falseAlarm: replay.falseAlarm },
    probes,
    lost,
    sessionsPerSecond: Math.round(sessionsPerSecond),
  })
}
