import { Refusal } from './errors.ts'

/**
 * Named reasons to refuse a request, in the order in which they are checked. A check returns a `Refusal` where its
 * reason applies. It waits for nothing and changes nothing: the caller gathers the facts first.
 */
export type Refusals<Facts> = readonly (readonly [
  name: string,
  check: (facts: Facts) => Refusal | undefined,
])[]

/** The first refusal of the list that applies to the facts. */
export const firstRefusal = <Facts>(refusals: Refusals<Facts>, facts: Facts): Refusal | undefined => {
  for (const [, check] of refusals) {
    const refusal = check(facts)
    if (refusal) return refusal
  }
  return undefined
}

/** Throws the first refusal of the list that applies to the facts. */
export const checkRefusals = <Facts>(refusals: Refusals<Facts>, facts: Facts): void => {
  const refusal = firstRefusal(refusals, facts)
  if (refusal) throw refusal
}

/**
 * Throws the first refusal that applies, or returns the value that `narrow` takes from the checked facts. `narrow`
 * returns undefined for facts that the list should have refused: that is an internal error.
 */
export const checkAndNarrow = <Facts, Checked>(
  refusals: Refusals<Facts>,
  facts: Facts,
  narrow: (facts: Facts) => Checked | undefined,
): Checked => {
  checkRefusals(refusals, facts)
  const checked = narrow(facts)
  if (checked === undefined) {
    const names = refusals.map(([name]) => name).join(', ')
    throw new Error(`the refusals ${names} passed facts that cannot be narrowed`)
  }
  return checked
}

/** Keeps a refusal as a fact, so that a list of refusals decides when it is answered. Throws any other error. */
export const refusalOrThrow = (error: unknown): Refusal => {
  if (error instanceof Refusal) return error
  throw error
}
