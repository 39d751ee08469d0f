import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { batteryNames } from '../../../../tools/batteries.ts'
import { everyPage, listPages, repositoryRoot } from '../docs/markdown.ts'
import { listRoutes } from '../fixtures/routes.ts'
import type { Source } from './whereabouts.ts'

/** Every document that is written or generated as Markdown. */
export const readDocuments = (): Source[] =>
  listPages(everyPage).map((path) => ({ path, text: readText(path) }))

const exists = (path: string): boolean => existsSync(join(repositoryRoot, path))

/** A file of the repository in backticks, or as a program of `node`. */
const namedFile = /(?:`|\bnode )((?:packages|tools|docs|conformance|deploy)\/[\w./-]+\.\w+)(?=[`\s]|$)/g

/** Files of the repository that a document names and that do not exist. Dated reports name files of their time. */
export const missingFiles = ({ path, text }: Source): string[] =>
  path.startsWith('docs/reports/')
    ? []
    : [...text.matchAll(namedFile)]
        .map(([, name = '']) => name)
        .filter((name) => !name.includes('NNNN') && !exists(name))
        .map((name) => `${path}: ${name}`)

/** Log messages in the table "Error in the log" of a document, as the beginning of a message. */
export const loggedMessages = (text: string): string[] => {
  const [, table = ''] = /\| Error in the log[^\n]*\n\|[^\n]*\n((?:\|[^\n]*\n)+)/.exec(text) ?? []
  return [...table.matchAll(/^\| `([^`]+)`/gm)].map(([, message = '']) => message)
}

const readText = (path: string): string => readFileSync(join(repositoryRoot, path), 'utf8')

/** Names that documents may use: npm scripts, batteries, commands of `pohf`, and endpoints as `GET /path`, parameters as `{}`. */
export type KnownNames = {
  readonly scripts: ReadonlySet<string>
  readonly batteries: readonly string[]
  readonly commands: ReadonlySet<string>
  readonly calls: ReadonlySet<string>
}

const withoutNames = (path: string): string => path.replaceAll(/\{\w+\}|:\w+/g, '{}')

export const readKnownNames = async (): Promise<KnownNames> => {
  const { scripts } = JSON.parse(readText('package.json')) as { scripts: Record<string, string> }
  const commands = [...readText('docs/reference/cli.md').matchAll(/^## (pohf.*)$/gm)]
  const routes = await listRoutes()
  return {
    scripts: new Set(Object.keys(scripts)),
    batteries: batteryNames,
    commands: new Set(commands.map(([, command = '']) => command)),
    calls: new Set(
      routes.flatMap(({ path, methods }) => methods.map((method) => `${method} ${withoutNames(path)}`)),
    ),
  }
}

const isCommand = (commands: ReadonlySet<string>, name: string, inner: string | undefined): boolean => {
  const command = `pohf ${name}`
  const hasInner = [...commands].some((known) => known.startsWith(`${command} `))
  return commands.has(command) && (!hasInner || inner === undefined || commands.has(`${command} ${inner}`))
}

/** Scripts, batteries, commands and endpoints that a document names and that do not exist. */
export const unknownNames = ({ path, text }: Source, known: KnownNames): string[] => {
  const scripts = [...text.matchAll(/npm run ([a-z][\w:-]*[\w-])/g)].filter(
    ([, name = '']) => !known.scripts.has(name),
  )
  const unknownBatteries = [...text.matchAll(/\bbattery -- ([a-z][a-z\d-]*)/g)].filter(
    ([, name = '']) => !known.batteries.includes(name),
  )
  const commands = [...text.matchAll(/(?:`pohf |^pohf )([a-z]+)(?: ([a-z]+))?/gm)].filter(
    ([, name = '', inner]) => !isCommand(known.commands, name, inner),
  )
  const calls = [...text.matchAll(/\b((?:GET|POST|PATCH|DELETE) \/[\w./{}-]*[\w}])/g)].filter(
    ([, call = '']) => !known.calls.has(withoutNames(call)),
  )
  return path.startsWith('docs/reports/')
    ? []
    : [...scripts, ...unknownBatteries, ...commands, ...calls].map(([found]) => `${path}: ${found.trim()}`)
}
