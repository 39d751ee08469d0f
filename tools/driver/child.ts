import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { closingAfter, makeFolder } from './closing.ts'
import { step } from './program.ts'

const root = fileURLToPath(new URL('../..', import.meta.url))

/** Runs a test file in its long form, and reads the figures that it writes to the file that `variable` names. */
export const readFigures = <T>(
  test: string,
  variable: string,
  environment: Readonly<Record<string, string>>,
) =>
  closingAfter(async (defer) => {
    step(`running ${test}`)
    const file = join(makeFolder('figures', defer), 'figures.json')
    const child = spawn(process.execPath, ['tools/ci/test.ts', test], {
      cwd: root,
      // Its output is for people; standard output is ours.
      stdio: ['ignore', process.stderr.fd, 'inherit'],
      env: { ...process.env, ...environment, [variable]: file },
    })
    const [code, signal] = (await once(child, 'close')) as [number | null, string | null]
    return {
      code: code ?? signal,
      figures: existsSync(file) ? (JSON.parse(readFileSync(file, 'utf8')) as T) : undefined,
    }
  })
