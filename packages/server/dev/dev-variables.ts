import { spawn } from 'node:child_process'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { fileURLToPath } from 'node:url'
import type { Config } from '../src/platform/ops/config.ts'

/** Writes `dev.env`, which a shell reads with `source`: the addresses and keys of this start. Returns its path. */
export const writeDevVariables = (
  dataDir: string,
  variables: Readonly<Record<string, string | undefined>>,
): string => {
  const file = join(dataDir, 'dev.env')
  const lines = Object.entries(variables).flatMap(([name, value]) =>
    value === undefined ? [] : [`export ${name}='${value}'\n`],
  )
  writeFileSync(file, lines.join(''), { mode: 0o600 })
  return file
}

/** The same operator at every start: the key is stored beside the other secrets. */
export const seedOperator = async (config: Config, environment: NodeJS.ProcessEnv): Promise<string> => {
  const file = join(config.DATA_DIR, 'dev-operator.json')
  if (existsSync(file)) {
    const { operatorKey } = JSON.parse(readFileSync(file, 'utf8')) as { operatorKey: string }
    const response = await fetch(
      `http://${config.OPERATOR_HOST}:${config.OPERATOR_PORT}/operator/operators`,
      { headers: { authorization: `Bearer ${operatorKey}` } },
    )
    if (response.ok) return operatorKey
  }
  const main = fileURLToPath(new URL('../src/main.ts', import.meta.url))
  const child = spawn(process.execPath, [main, 'operator', 'create', 'Development'], {
    env: environment,
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const created = await text(child.stdout)
  if (!created.startsWith('{')) throw new Error('operator create printed no key; see its output above')
  writeFileSync(file, created, { mode: 0o600 })
  return (JSON.parse(created) as { operatorKey: string }).operatorKey
}
