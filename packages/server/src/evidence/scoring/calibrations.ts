import { readFileSync } from 'node:fs'
import { z } from 'zod'
import type { Calibration } from '@pohf/scorer'
import { inputModel } from '@pohf/scorer/input-model'

/** The output of `pohf calibrate`: one row for each calibrated platform. */
const calibrationFile = z.array(
  z.strictObject({
    pointer: z.literal('mouse'),
    platform: z.enum(['windows', 'mac', 'linux', 'chromeos', 'android', 'ios', 'other']),
    model: z.string(),
    pMin: z.number().min(0).max(1),
    people: z.int().min(1),
    sessions: z.int().min(1),
    at: z.iso.datetime(),
  }),
)

export const readCalibrations = (path: string) => {
  try {
    return calibrationFile.parse(JSON.parse(readFileSync(path, 'utf8')))
  } catch (cause) {
    throw new Error(`calibrations cannot be read from ${path}`, { cause })
  }
}

export type FindCalibration = (platform: string) => Calibration | null

/**
 * The calibration of a platform, if the file has one for the current model. Without a file, motion is observed and
 * not scored.
 */
export const makeFindCalibration = (path: string): FindCalibration => {
  const rows = path === '' ? [] : readCalibrations(path)
  const byPlatform = new Map(
    rows
      .filter(({ model }) => model === inputModel.version)
      .map(({ platform, pointer, pMin }) => [platform as string, { pointer, pMin }]),
  )
  return (platform) => byPlatform.get(platform) ?? null
}
