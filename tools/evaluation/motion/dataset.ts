// Everything the fits and the evaluation look at, read or generated once.
import { readBots, readHumans, type Session } from '../data.ts'
import { attackerLibrary, generateBots, generateVariants, resampleToFrameClock } from './generate.ts'
import { extractFeatures, type FeaturedSession } from './windows.ts'
import { readSplit, type Split } from './split.ts'

export type Dataset = {
  readonly split: Split
  readonly people: readonly FeaturedSession[]
  /** The same people on the frame clock: one copy to train with, another to test with. */
  readonly reclockedTrainingPeople: readonly FeaturedSession[]
  readonly reclockedTestPeople: readonly FeaturedSession[]
  readonly bots: readonly FeaturedSession[]
  /** Captured in a real Chromium: in the test set, never in the training set. */
  readonly captured: readonly FeaturedSession[]
  readonly variants: readonly FeaturedSession[]
}

export const FULL = { sessionsPerFamily: 120, variantsPerFamily: 30 } as const

export function loadDataset(
  folder: string,
  { sessionsPerFamily, variantsPerFamily }: { sessionsPerFamily: number; variantsPerFamily: number },
  toFeatures: (session: Session) => FeaturedSession = extractFeatures,
): Dataset {
  const split = readSplit(folder)
  const humans = readHumans(folder)
  const library = attackerLibrary(humans, split)
  const given = readBots(folder)
  const trainAndTestPeople = humans.filter(({ user }) => user !== null && !split.attacker.has(user))
  return {
    split,
    people: trainAndTestPeople.map(toFeatures),
    reclockedTrainingPeople: resampleToFrameClock(trainAndTestPeople, 1_000_000).map(toFeatures),
    reclockedTestPeople: resampleToFrameClock(trainAndTestPeople, 2_000_000).map(toFeatures),
    bots: [
      ...given.filter(({ source }) => source === 'offline'),
      ...generateBots(library, sessionsPerFamily),
    ].map(toFeatures),
    captured: given.filter(({ source }) => source === 'chromium').map(toFeatures),
    variants: generateVariants(library, variantsPerFamily).map(toFeatures),
  }
}

/** Training people as recorded and on the frame clock. */
export function selectTrainingPeople({
  people,
  reclockedTrainingPeople: reclockedToTeach,
  split,
}: Dataset): FeaturedSession[] {
  return [...people, ...reclockedToTeach].filter(({ user }) => user !== null && split.train.has(user))
}

export function testPeople(people: readonly FeaturedSession[], split: Split): FeaturedSession[] {
  return people.filter(({ user }) => user !== null && split.test.has(user))
}

/** The bots and variants that a model may see while this group is hidden. */
export function selectTrainingBots(
  { bots, variants }: Dataset,
  hidden: readonly string[],
): FeaturedSession[] {
  return [...bots, ...variants].filter(
    ({ family, parent }) => !hidden.includes(family) && !(parent !== null && hidden.includes(parent)),
  )
}
