const shownMax = 400

/** How a value reads in the report: one line, not too long, and without anyone's key. */
export const show = (value: unknown): string => {
  const text = typeof value === 'string' ? value : (JSON.stringify(value) ?? String(value))
  const safe = text.replaceAll(/(svc_(?:live|test)_)\w+/g, '$1…').replaceAll(/whsec_[\w+/=]+/g, 'whsec_…')
  return safe.length > shownMax ? `${safe.slice(0, shownMax)}…` : safe
}

/** A guarantee that did not hold: what was expected, and what came. */
export class Failure extends Error {
  readonly expected: string
  readonly got: string
  constructor(expected: string, got: unknown) {
    super(`expected ${expected}, got ${show(got)}`)
    this.expected = expected
    this.got = show(got)
  }
}

/** Thrown where this deployment or this run cannot show the guarantee. */
export class Skipped extends Error {}

/** Thrown where something that the statement stands on is not built yet. */
export class NotBuilt extends Error {}

let made = 0

/** How many checks were made so far: a statement that made none has shown nothing. */
export const checksMade = (): number => made

export function expectThat(condition: boolean, expected: string, got: unknown): asserts condition {
  made += 1
  if (!condition) throw new Failure(expected, got)
}

export const expectEqual = (got: unknown, wanted: string | number | boolean | null, what: string): void =>
  expectThat(got === wanted, `${what} ${show(wanted)}`, got)

export const expectAbsent = (value: unknown, path: string): void =>
  expectThat(at(value, path) === undefined, `no ${path}`, at(value, path))

export const isRecord = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/** Reads `a.b.0.c` out of a JSON value; undefined where the way ends. */
export const at = (value: unknown, path: string): unknown => {
  let here = value
  for (const name of path.split('.')) {
    if (typeof here !== 'object' || here === null) return undefined
    here = (here as Record<string, unknown>)[name]
  }
  return here
}

export const textAt = (value: unknown, path: string): string => {
  const got = at(value, path)
  expectThat(typeof got === 'string' && got !== '', `${path} as text`, got)
  return got
}

export const numberAt = (value: unknown, path: string): number => {
  const got = at(value, path)
  expectThat(typeof got === 'number' && Number.isFinite(got), `${path} as a number`, got)
  return got
}

export const countAt = (value: unknown, path: string): number => {
  const got = at(value, path)
  expectThat(
    typeof got === 'number' && Number.isInteger(got) && got >= 0,
    `${path} as a whole number, 0 or more`,
    got,
  )
  return got
}

export const fractionAt = (value: unknown, path: string): number => {
  const got = at(value, path)
  expectThat(typeof got === 'number' && got >= 0 && got <= 1, `${path} from 0 to 1`, got)
  return got
}

export const booleanAt = (value: unknown, path: string): boolean => {
  const got = at(value, path)
  expectThat(typeof got === 'boolean', `${path} as true or false`, got)
  return got
}

export const recordAt = (value: unknown, path: string): Record<string, unknown> => {
  const got = at(value, path)
  expectThat(isRecord(got), `${path} as an object`, got)
  return got
}

export const listAt = (value: unknown, path: string): readonly unknown[] => {
  const got = at(value, path)
  expectThat(Array.isArray(got), `${path} as an array`, got)
  return got
}

/** A list with something in it, so that a check of every element checks at least one. */
export const filledListAt = (value: unknown, path: string): readonly unknown[] => {
  const got = listAt(value, path)
  expectThat(got.length > 0, `${path} with at least one element`, got)
  return got
}

export const webAddressAt = (value: unknown, path: string): URL => {
  const got = textAt(value, path)
  const url = URL.parse(got)
  expectThat(url !== null && /^https?:$/.test(url.protocol), `${path} as an absolute web address`, got)
  return url
}

export const instantAt = (value: unknown, path: string): Date => {
  const got = textAt(value, path)
  const parsed = new Date(got)
  expectThat(
    /^\d{4}-\d{2}-\d{2}T/.test(got) && !Number.isNaN(parsed.getTime()),
    `${path} as a timestamp`,
    got,
  )
  return parsed
}
