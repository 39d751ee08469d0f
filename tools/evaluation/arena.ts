// Plays the arena against a server of its own, from nothing, or against the one that --base-url names.
// npm run arena [-- --sessions 20 --family protocol_bot --library FILE --write]
// With --measure or --day it measures what forgeries cost: families.ts.
// With --price it plays nothing: it prices roots and measured families, and writes the price table and docs/evidence/price.md. With
// --price --json it writes nothing, and the last line has what views cost.
import { spawn } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { text } from 'node:stream/consumers'
import { startServer } from '../../packages/server/test/fixtures/processes/server.ts'
import { showPrices } from './write-prices.ts'

const root = resolve(import.meta.dirname, '../..')
const given = process.argv.slice(2).filter((argument) => argument !== '--write')
const writes = process.argv.includes('--write')

/** Runs the arena with these arguments; gives what it printed and how it ended. */
const play = async (parameters: readonly string[]): Promise<{ table: string; code: number }> => {
  const child = spawn(process.execPath, [join(root, 'packages/arena/src/main.ts'), ...parameters], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const ended = new Promise<number>((done) => child.once('exit', (code) => done(code ?? 1)))
  const table = await text(child.stdout)
  process.stdout.write(table)
  return { table, code: await ended }
}

const playAtHome = async () => {
  const server = await startServer()
  try {
    const response = await fetch(`${server.baseUrl}/api/agents/register`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ name: 'Arena', contactEmail: 'arena@example.com' }),
    })
    const { agentId, apiKey } = (await response.json()) as { agentId: string; apiKey: string }
    return await play([...given, '--base-url', server.baseUrl, '--site', agentId, '--key', apiKey])
  } finally {
    await server.stop()
  }
}

const playArena = async (): Promise<void> => {
  const needsNoServer = given.some((argument) => argument.startsWith('--base-url') || argument === '--help')
  const { table, code } = needsNoServer ? await play(given) : await playAtHome()
  process.exitCode = code
  if (writes && code === 0) {
    const page = join(root, 'docs/evidence/arena.md')
    const [before, rest] = readFileSync(page, 'utf8').split('<!-- arena:begin -->')
    const after = rest?.split('<!-- arena:end -->')[1]
    if (before === undefined || after === undefined) throw new Error(`${page} has lost its markers`)
    writeFileSync(page, `${before}<!-- arena:begin -->\n\n${table.trim()}\n\n<!-- arena:end -->${after}`)
  }
}

if (given.includes('--price')) showPrices({ json: given.includes('--json') })
else if (given.includes('--measure') || given.includes('--day')) await import('./families.ts')
else await playArena()
