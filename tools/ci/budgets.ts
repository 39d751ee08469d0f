import { readFileSync } from 'node:fs'

/** The whole of CI on a quiet machine. */
export const minutesMax = 30

/** Minutes that each step of CI may take on a quiet machine. */
export const budgets = JSON.parse(readFileSync(new URL('budgets.json', import.meta.url), 'utf8')) as Readonly<
  Record<string, number>
>

export type Duration = { readonly name: string; readonly seconds: number }

export const budgetSecondsOf = (name: string): number => {
  const minutes = budgets[name]
  if (minutes === undefined) throw new Error(`step "${name}" has no budget in budgets.json`)
  return minutes * 60
}

/** One line for each step that took longer than its budget. */
export const overrunsOf = (durations: readonly Duration[]): string[] =>
  durations
    .filter(({ name, seconds }) => seconds > budgetSecondsOf(name))
    .map(
      ({ name, seconds }) =>
        `${name} took ${seconds.toFixed(1)} s, over its budget of ${budgetSecondsOf(name)} s`,
    )
