import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { calibrate, readMouseMotion, type ConsentedSession } from '@pohf/scorer'
import { inputModel } from '@pohf/scorer/input-model'
import { checkChunks, readRecording } from '@pohf/verify'
import { CommandError, messageOf } from '../command/errors.ts'
import { printAnswer } from '../command/output.ts'
import { withProgress } from '../command/progress.ts'

type CalibrateOptions = { readonly platform: string; readonly out: string; readonly json?: boolean }

/** As the server derives them from a browser's headers. */
const platforms = ['windows', 'mac', 'linux', 'chromeos', 'android', 'ios', 'other']
const filesMax = 10_000

/** Opens one recording of one person; a recording that cannot be verified is an error. */
const readSession = async (folder: string, path: string): Promise<ConsentedSession> => {
  const recording = readRecording(JSON.parse(readFileSync(join(folder, path), 'utf8')))
  if (!recording) throw new Error(`${path} is not a response of GET /api/agents/sessions/{id}/chunks.`)
  const checked = await checkChunks(recording)
  if (!checked.ok) throw new Error(`${path}: ${checked.message}`)
  const motion = inputModel.evaluate(readMouseMotion(checked.records))
  return { person: path.split('/')[0] ?? '', motion }
}

type Row = { readonly pointer: string; readonly platform: string }
const readRows = (path: string): Row[] =>
  existsSync(path) ? (JSON.parse(readFileSync(path, 'utf8')) as Row[]) : []

const run = async (folder: string, options: CalibrateOptions): Promise<void> => {
  const { platform, out } = options
  if (!platforms.includes(platform))
    throw new Error(`Unknown platform ${platform}: expected one of ${platforms.join(', ')}.`)
  const paths = readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .filter((path) => /^[^/]+\/[^/]+\.json$/.test(path))
    .toSorted()
    .slice(0, filesMax)
  const sessions: ConsentedSession[] = []
  for (const path of paths) sessions.push(await readSession(folder, path))
  const result = calibrate(sessions)
  if (result.type === 'refused') throw new Error(`Not calibrated: ${result.reason}.`)
  const { calibration, people, sessions: count } = result
  const flagged = sessions.filter(({ motion }) => motion.synthetic).length
  const row = {
    ...calibration,
    platform,
    model: inputModel.version,
    people,
    sessions: count,
    at: new Date().toISOString(),
  }
  const others = readRows(out).filter((one) => one.platform !== platform || one.pointer !== row.pointer)
  writeFileSync(out, `${JSON.stringify([...others, row], null, 2)}\n`)
  printAnswer(options, { ...row, flagged, file: out }, () =>
    console.log(`${count} sessions of ${people} people: p is at least ${calibration.pMin} for 99 of 100 like them.
${flagged} of them would have been flagged by the model's own threshold.
Written to ${out}. Set CALIBRATIONS_FILE to it and start the service again: from then on synthetic_motion counts on ${platform}.`),
  )
}

/** `pohf calibrate`. */
export const calibrateFolder = async (folder: string, options: CalibrateOptions): Promise<void> => {
  try {
    await withProgress(`reading the recordings in ${folder}`, () => run(folder, options))
  } catch (error) {
    if (error instanceof CommandError) throw error
    throw new CommandError(messageOf(error), {
      code: 'not_calibrated',
      fix: 'See docs/evidence/scoring.md for the folder and the number of people that it needs.',
      cause: error,
    })
  }
}
