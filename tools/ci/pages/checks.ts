import { steps, type Step } from '../steps.ts'
import { paddedTableOf, withGeneratedPart, type GeneratedFile } from './markdown.ts'

const codeOf = (command: Step['command']): string => `\`${command.join(' ')}\``

const checksTable = (): string =>
  paddedTableOf(
    ['Check', 'What it checks', 'Commands'],
    steps.map(({ name, checks, command, beside }) => [
      name,
      checks,
      beside ? `${codeOf(command)} and ${codeOf(beside)}` : codeOf(command),
    ]),
  )

/** CONTRIBUTING.md with the list of checks. */
export const checkFiles = (): GeneratedFile[] => [
  withGeneratedPart('CONTRIBUTING.md', 'checks', checksTable()),
]
