import { lanes } from '../steps.ts'
import { paddedTableOf, withGeneratedPart, type GeneratedFile } from './markdown.ts'

const checksTable = (): string =>
  paddedTableOf(
    ['Lane', 'Check', 'What it checks', 'Command'],
    lanes.flatMap(({ name: lane, steps }) =>
      steps.map(({ name, checks, command }) => [lane, name, checks, `\`${command.join(' ')}\``]),
    ),
  )

/** CONTRIBUTING.md with the list of checks. */
export const checkFiles = (): GeneratedFile[] => [
  withGeneratedPart('CONTRIBUTING.md', 'checks', checksTable()),
]
