import { spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { ComposeRun } from './compose-run.ts'
import { repositoryRoot } from './dockerfile.ts'
import { expect } from './statements.ts'

/** What each command of docs/operate/containers.md prints. `doctor` exits with 1 here: mail and cards are not configured. */
const expectedOutputs: readonly (readonly [command: string, output: RegExp])[] = [
  ['pohf operator create', /"operatorKey":\s*"svc_op_/],
  ['pohf doctor', /✓ schema [^]*\n✓ server /],
  ['pohf keys list', /"state": "active"/],
]

/** Runs the commands that the page gives for `docker compose exec`, each in its container. */
export const checkCommands = (compose: ComposeRun): void => {
  const page = readFileSync(join(repositoryRoot, 'docs/operate/containers.md'), 'utf8')
  const commands = Array.from(page.matchAll(/\bexec (api|signer) (pohf [^`\n…]+)(?:`|\n)/g), (match) => match)
  expect(
    commands.length === expectedOutputs.length,
    `docs/operate/containers.md: ${commands.length} commands are run`,
  )
  for (const [, name = '', command = ''] of commands) {
    const [, expected] = expectedOutputs.find(([start]) => command.startsWith(start)) ?? []
    const parameters = ['exec', compose.container(name), 'sh', '-c', command]
    const { stdout, stderr } = spawnSync('podman', parameters, { encoding: 'utf8', timeout: 60_000 })
    const holds = expected?.test(stdout) ?? false
    expect(holds, `${name}: ${command}${holds ? '' : `\n${stdout}${stderr}`}`)
  }
}
