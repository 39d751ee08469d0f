import { Failure, Skipped, NotBuilt, checksMade } from './expect.ts'
import type { Statement } from './statement.ts'
import type { RunContext } from './run-context.ts'

export type Outcome =
  | { readonly state: 'passed' }
  | { readonly state: 'failed'; readonly expected: string; readonly got: string }
  | { readonly state: 'todo' | 'skipped'; readonly reason: string }

const failed = (expected: string, got: string): Outcome => ({ state: 'failed', expected, got })

/** What keeps a statement from being tried at all. */
const reasonNotToRun = (world: RunContext, statement: Statement): Outcome | undefined => {
  const missing = statement.needs.filter((need) => !world.api.has(need))
  if (missing.length > 0) return { state: 'todo', reason: `waits for ${missing.join(', ')}` }
  if (statement.todo !== undefined) return { state: 'todo', reason: statement.todo }
  if (statement.skip !== undefined) return { state: 'skipped', reason: statement.skip }
  if (statement.loopback && !world.isLoopback)
    return { state: 'skipped', reason: 'the deployment cannot reach a receiver on this machine' }
  return world.end.aborted ? failed('a turn before the time of the run is over', 'none') : undefined
}

const outcomeOf = (error: unknown): Outcome => {
  if (error instanceof Skipped) return { state: 'skipped', reason: error.message }
  if (error instanceof NotBuilt) return { state: 'todo', reason: `waits for ${error.message}` }
  if (error instanceof Failure) return failed(error.expected, error.got)
  return failed('no exception', error instanceof Error ? error.message : String(error))
}

/** Tries one statement. To pass it must have checked something. */
export const runStatement = async (world: RunContext, statement: Statement): Promise<Outcome> => {
  const known = reasonNotToRun(world, statement)
  if (known) return known
  const before = checksMade()
  try {
    await statement.run(world)
  } catch (error) {
    return outcomeOf(error)
  }
  return checksMade() > before ? { state: 'passed' } : failed('at least one check', 'none')
}
