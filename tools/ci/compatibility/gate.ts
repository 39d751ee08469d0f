import { readFileSync, writeFileSync } from 'node:fs'

/** A change that breaks clients on purpose, word for word as the comparison prints it. */
type Declaration = { readonly change: string; readonly reason: string }

const declaredFile = new URL('declared.json', import.meta.url)
const reasonLengthMin = 20

export const readDeclared = (): readonly Declaration[] =>
  JSON.parse(readFileSync(declaredFile, 'utf8')) as Declaration[]

export const clearDeclared = (): void => writeFileSync(declaredFile, '[]\n')

/** What fails the gate: breaks that nobody declared, and declarations of what did not happen or without a reason. */
export const gateFaults = (breaks: readonly string[], declared: readonly Declaration[]): string[] => {
  const changes = declared.map(({ change }) => change)
  return [
    ...breaks.filter((change) => !changes.includes(change)).map((change) => `not declared: ${change}`),
    ...changes
      .filter((change) => !breaks.includes(change))
      .map((change) => `declared, but not a change since the last release: ${change}`),
    ...changes
      .filter((change, index) => changes.indexOf(change) !== index)
      .map((change) => `declared twice: ${change}`),
    ...declared
      .filter(({ reason }) => reason.trim().length < reasonLengthMin)
      .map(({ change }) => `declared without a reason of at least ${reasonLengthMin} characters: ${change}`),
  ]
}
