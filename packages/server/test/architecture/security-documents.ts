import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { databaseRoles } from '../../src/platform/db/database-roles.ts'
import { settings } from '../../src/platform/ops/settings.ts'
import { repositoryRoot } from '../docs/markdown.ts'

const read = (path: string): string => readFileSync(join(repositoryRoot, path), 'utf8')

/** A test by its file and its name as the file writes it, template placeholders included. */
type NamedTest = { readonly file: string; readonly name: string }

/** Says what is wrong with the name of a test; undefined where the file has it as the first argument of a call. */
const faultOfTest = ({ file, name }: NamedTest): string | undefined => {
  if (!file.endsWith('.test.ts') || !existsSync(join(repositoryRoot, file))) return `no test file ${file}`
  const escaped = name.replaceAll(/[.*+?^${}()|[\]\\]/g, String.raw`\$&`)
  return new RegExp(String.raw`\(\s*(['"\`])${escaped}\1`).test(read(file))
    ? undefined
    : `${file} has no test "${name}"`
}

/** The cells of a CSV document (RFC 4180), row by row. */
export const parseCsv = (text: string): string[][] =>
  text
    .trimEnd()
    .split('\n')
    .map((line) =>
      [...line.matchAll(/(?<=^|,)(?:"((?:[^"]|"")*)"|([^",]*))(?=,|$)/g)].map(
        ([, quoted, plain]) => quoted?.replaceAll('""', '"') ?? plain ?? '',
      ),
    )

const columns = ['id', 'level', 'chapter', 'requirement', 'status', 'file', 'test', 'reason'] as const
export type AsvsRow = Readonly<Record<(typeof columns)[number], string>>

export const readAsvs = (text = read('docs/operate/asvs.csv')): AsvsRow[] => {
  const [header = [], ...rows] = parseCsv(text)
  if (header.join() !== columns.join()) throw new Error(`asvs.csv begins with ${header.join()}`)
  return rows.map((cells) => {
    if (cells.length !== columns.length)
      throw new Error(`asvs.csv: ${cells.join()} has ${cells.length} cells`)
    return Object.fromEntries(columns.map((name, index) => [name, cells[index] ?? ''])) as AsvsRow
  })
}

/** Authorization, self-contained tokens, cryptography and logging. */
const chaptersOfLevel3 = new Set(['V8', 'V9', 'V11', 'V16'])

/** The requirements of ASVS 5.0.0 that we answer, with their levels: 1 and 2 everywhere, 3 in some chapters. */
export const readRequiredLevels = (): Map<string, string> =>
  new Map(
    read('packages/server/test/architecture/asvs-levels.tsv')
      .trimEnd()
      .split('\n')
      .map((line) => line.split('\t') as [string, string])
      .filter(([id, level]) => level !== '3' || chaptersOfLevel3.has(id.split('.')[0] ?? '')),
  )

const statuses = new Set(['test', 'reason', 'not met', 'not applicable'])
const isBusinessLogic = (id: string): boolean => id.startsWith('V2.')

const faultsOfRow = (row: AsvsRow, level: string | undefined): string[] => {
  const { id, status, file, test, reason } = row
  const found = status === 'test' ? faultOfTest({ file, name: test }) : undefined
  return [
    ...(level === undefined ? [`${id} is not required`] : []),
    ...(level !== undefined && level !== row.level ? [`${id} has level ${level}, not ${row.level}`] : []),
    ...(row.requirement === '' ? [`${id} does not say what it requires`] : []),
    ...(statuses.has(status) ? [] : [`${id} has the unknown status "${status}"`]),
    ...(found === undefined ? [] : [`${id}: ${found}`]),
    ...(status !== 'test' && (reason === '' || file + test !== '')
      ? [`${id} gives no reason, or a test too`]
      : []),
    ...(isBusinessLogic(id) && status !== 'test' ? [`${id} is business logic and names no test`] : []),
  ]
}

/** Everything that is wrong with the rows: missing and repeated requirements, and tests that do not exist. */
export const faultsOfAsvs = (rows: readonly AsvsRow[]): string[] => {
  const required = readRequiredLevels()
  const ids = rows.map(({ id }) => id)
  return [
    ...[...required.keys()].filter((id) => !ids.includes(id)).map((id) => `${id} is missing`),
    ...ids.filter((id, index) => ids.indexOf(id) !== index).map((id) => `${id} is there twice`),
    ...rows.flatMap((row) => faultsOfRow(row, required.get(row.id))),
  ]
}

export type Threat = { readonly section: string; readonly cells: readonly string[] }

const threatColumns = ['Goal', 'Way', 'What must hold', 'What stops it', 'Test']

/** The rows of the tables of the threat model. A section is an actor. */
export const readThreats = (text = read('docs/operate/threat-model.md')): Threat[] => {
  let section = ''
  return text.split('\n').flatMap((line) => {
    if (line.startsWith('## ')) section = line.slice(3)
    if (!line.startsWith('| ')) return []
    const cells = line
      .slice(1, -1)
      .split('|')
      .map((cell) => cell.trim())
    const isHead = cells[0] === threatColumns[0] || /^-+$/.test(cells[0] ?? '')
    return cells.length === threatColumns.length && !isHead ? [{ section, cells }] : []
  })
}

/** The tests that the last cell of a row names: `file`, “name”. */
export const testsOf = ({ cells }: Threat): NamedTest[] =>
  [...(cells.at(-1) ?? '').matchAll(/`([^`]+)`, “([^”]+)”/g)].map(([, file = '', name = '']) => ({
    file,
    name,
  }))

/** A row names tests that exist, or says that there is none. */
export const faultsOfThreats = (threats: readonly Threat[]): string[] =>
  threats.flatMap((threat) => {
    const tests = testsOf(threat)
    const [goal] = threat.cells
    if (tests.length === 0 && !threat.cells.at(-1)?.startsWith('None'))
      return [`${threat.section}: "${goal}" names no test`]
    return tests.flatMap((test) => faultOfTest(test) ?? [])
  })

/** Settings that hold a secret, name a file, or hold an address that often contains a key. */
const isSecretOrFile = (name: string): boolean =>
  /_(?:FILE|DIR|SECRET|SECRET_KEY|URLS?|RPC|SOCKET)$/.test(name) && name !== 'BASE_URL'

/** The roles, files and secrets of a deployment. */
export const deploymentParts = (): string[] => [
  ...databaseRoles,
  ...Object.keys(settings.shape).filter(isSecretOrFile),
  'master.key',
]

/** What the sections about the database, files and secrets of operations.md do not name. */
export const missingParts = (page = read('docs/operate/operations.md')): string[] => {
  const sections = page.slice(page.indexOf('## Database\n'), page.indexOf('## Start\n'))
  return deploymentParts().filter((part) => !new RegExp(`\\b${part}\\b`).test(sections))
}
