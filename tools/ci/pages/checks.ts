import { steps } from '../steps.ts'
import { paddedTableOf, withGeneratedPart, type GeneratedFile } from './markdown.ts'

const checksTable = (): string =>
  paddedTableOf(
    ['Check', 'What it checks', 'Command'],
    steps.map(({ name, checks, command }) => [name, checks, `\`${command.join(' ')}\``]),
  )

/** CONTRIBUTING.md with the list of checks. */
export const checkFiles = (): GeneratedFile[] => [
  withGeneratedPart('CONTRIBUTING.md', 'checks', checksTable()),
]
