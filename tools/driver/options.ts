import { parseArgs } from 'node:util'

/** The options of a program with their defaults: a number, a text, a flag, or a list of texts. */
export type OptionDefaults = Readonly<Record<string, number | string | boolean | readonly string[]>>

type Widened<T> = T extends number
  ? number
  : T extends boolean
    ? boolean
    : T extends string
      ? string
      : readonly string[]
export type Options<D extends OptionDefaults> = { readonly [K in keyof D]: Widened<D[K]> }

/** What every program takes. `smoke` is its smallest run, where it has one. */
export type CommonOptions = { readonly json: boolean; readonly report: boolean; readonly smoke: boolean }

export class UsageError extends Error {}

export const anySeed = (): number => Date.now() % 1_000_000

const describe = ([name, fallback]: readonly [string, OptionDefaults[string]]): string =>
  typeof fallback === 'boolean' ? `--${name}` : `--${name} ${String(fallback) || '…'}`

/** A comma or a semicolon separates two values, except before a blank: names have those. */
const listOf = (texts: readonly string[]): readonly string[] =>
  texts.flatMap((text) => text.split(/[;,](?! )/)).filter((text) => text !== '')

const numberOf = (name: string, text: string): number => {
  const value = Number(text)
  if (text.trim() === '' || !Number.isFinite(value) || value < 0)
    throw new UsageError(`--${name} takes a number, not "${text}".`)
  return value
}

/** Reads the command line. An option that the program does not have is refused with the list of those that it has. */
export const readOptions = <D extends OptionDefaults>(
  defaults: D,
  smoke: Partial<Options<D>> | undefined,
  words: readonly string[],
): Options<D> & CommonOptions => {
  const flags = { json: false, report: false, ...(smoke ? { smoke: false } : {}) }
  const known = Object.entries({ ...defaults, ...flags })
  const parse = () =>
    parseArgs({
      args: [...words],
      options: Object.fromEntries(
        known.map(([name, fallback]) => [
          name,
          typeof fallback === 'boolean'
            ? { type: 'boolean' as const }
            : { type: 'string' as const, multiple: Array.isArray(fallback) },
        ]),
      ),
    }).values
  let given: ReturnType<typeof parse>
  try {
    given = parse()
  } catch (error) {
    const [reason] = (error instanceof Error ? error.message : String(error)).split('\n')
    throw new UsageError(`${reason}\nOptions and their defaults: ${known.map(describe).join(' ')}`, {
      cause: error,
    })
  }
  const read = ([name, fallback]: (typeof known)[number]) => {
    const value = given[name]
    if (value === undefined) return [name, (given['smoke'] === true ? smoke?.[name] : undefined) ?? fallback]
    if (Array.isArray(fallback)) return [name, listOf([value].flat().map(String))]
    return [name, typeof fallback === 'number' ? numberOf(name, String(value)) : value]
  }
  return { smoke: false, ...Object.fromEntries(known.map(read)) } as Options<D> & CommonOptions
}
