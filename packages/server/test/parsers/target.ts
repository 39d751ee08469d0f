import { mutate, type Form } from './mutate.ts'
import { randomOf } from './random.ts'

/** An input: named parts, each with its bytes. */
export type Input = Readonly<Record<string, Buffer>>
/**
 * `accepted`: it was believed and says something else than the seed, so it would be a forgery. `equal`: it was believed and
 * says the same, because what differs is neither signed nor read.
 */
export type Outcome = 'refused' | 'equal' | 'accepted'
/** A parser of foreign evidence, with everything that verifies what it read. It may throw nothing. */
export type Target = {
  readonly name: string
  /** The parts that are changed, and how. */
  readonly forms: Readonly<Record<string, Form>>
  /** Evidence that is believed. */
  readonly seeds: readonly Input[]
  /** Starts for changes that are refused themselves: formats for which there is nothing genuine here. */
  readonly refused?: readonly Input[]
  readonly run: (input: Input, seed: Input) => Promise<Outcome> | Outcome
}

export type MutatedInput = { readonly input: Input; readonly seed: Input }
/** The input with this number: the same for the same seed, whatever was asked before. */
export const inputOf = (target: Target, seed: string, index: number): MutatedInput => {
  const random = randomOf(`${seed} ${target.name} ${index}`)
  const starts = [...target.seeds, ...(target.refused ?? [])]
  const start = random.pick(starts)
  const names = Object.keys(target.forms)
  const name = random.pick(names)
  const others = starts.flatMap((each) => Object.values(each))
  const changeOf = (part: string): Buffer =>
    mutate(start[part] ?? Buffer.alloc(0), target.forms[part] ?? 'bytes', random, others)
  const second = random.chance(8) ? random.pick(names) : name
  const input = { ...start, [name]: changeOf(name), [second]: changeOf(second) }
  return { input, seed: start }
}

/** Fails unless every seed is believed: a target that refuses everything would find nothing. */
export const checkSeeds = async (target: Target): Promise<void> => {
  if (target.seeds.length === 0) throw new Error(`target ${target.name} has no seed`)
  for (const [index, seed] of target.seeds.entries()) {
    const outcome = await target.run(seed, seed)
    if (outcome !== 'equal') throw new Error(`seed ${index} of target ${target.name} is ${outcome}`)
  }
}

/** Whether all of these parts have the same bytes. */
export const sameParts = (one: Input, other: Input, names: readonly string[] = Object.keys(other)): boolean =>
  names.every((name) => one[name]?.equals(other[name] ?? Buffer.alloc(0)) === true)
