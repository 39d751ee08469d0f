import type { Command } from 'commander'
import { agentCall, type AgentRemote } from './agent.ts'
import { addAgent } from './options.ts'
import { printAnswer, tableOf } from './output.ts'

type Page<Row> = { readonly rows: readonly Row[]; readonly nextCursor: string | null }
export type ListOptions = AgentRemote & { readonly limit: string } & Readonly<Record<string, unknown>>
export type ListCommand<Row> = {
  /** The last part of the path, and the field of the answer. */
  readonly name: 'credentials' | 'sessions' | 'requests'
  /** Options that are parameters of the query. */
  readonly filters: readonly string[]
  readonly head: readonly string[]
  readonly cells: (row: Row) => readonly (string | number | null)[]
  readonly whenEmpty: string
}

const pageMax = 100
/** With a filter that few rows match, pages can be empty. */
const pagesMax = 1_000

const readPage = async <Row>(
  remote: AgentRemote,
  name: ListCommand<Row>['name'],
  query: URLSearchParams,
): Promise<Page<Row>> => {
  const answer = await agentCall<Readonly<Record<string, readonly Row[]>> & Pick<Page<Row>, 'nextCursor'>>(
    remote,
    'GET',
    `/api/agents/${name}?${query.toString()}`,
  )
  return { rows: answer[name] ?? [], nextCursor: answer.nextCursor }
}

/** Reads pages until so many rows are there, or the list ends. */
const readRows = async <Row>(options: ListOptions, command: ListCommand<Row>): Promise<Page<Row>> => {
  const query = new URLSearchParams()
  for (const name of command.filters) if (typeof options[name] === 'string') query.set(name, options[name])
  const rows: Row[] = []
  const rowsMax = Number(options.limit)
  for (let page = 0; page < pagesMax; page++) {
    query.set('limit', String(Math.min(pageMax, rowsMax - rows.length)))
    const { rows: found, nextCursor } = await readPage<Row>(options, command.name, query)
    rows.push(...found)
    if (nextCursor === null || rows.length >= rowsMax) return { rows, nextCursor }
    query.set('cursor', nextCursor)
  }
  return { rows, nextCursor: query.get('cursor') }
}

export const printList = async <Row>(options: ListOptions, command: ListCommand<Row>): Promise<void> => {
  const { rows, nextCursor } = await readRows(options, command)
  printAnswer(options, { [command.name]: rows, nextCursor }, () => {
    console.log(rows.length === 0 ? command.whenEmpty : tableOf(command.head, rows.map(command.cells)))
    if (nextCursor !== null) console.log(`\nThere are more: --cursor ${nextCursor}`)
  })
}

/** Adds the command `list` with the options that all lists have. */
export const addList = (parent: Command, description: string, ...examples: readonly string[]): Command =>
  addAgent(parent, 'list', description, ...examples)
    .option('--since <time>', 'only from this time on, such as 2026-11-01')
    .option('--until <time>', 'only before this time')
    .option('--limit <number>', 'number of rows', '25')
    .option('--cursor <cursor>', 'continue where a list ended, with the same options')
