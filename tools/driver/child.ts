import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { closingAfter, makeFolder } from './closing.ts'
import { step } from './program.ts'

const root = fileURLToPath(new URL('../..', import.meta.url))

/** Runs a test file in its long form, and reads the figures that it writes to the file that `variable` names. */
export const readFigures = (
  test: string,
  variable: string,
  environment: Readonly<Record<string, string>>,
): Promise<{ readonly code: number | string | null; readonly figures: unknown }> =>
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
      figures: existsSync(file) ? (JSON.parse(readFileSync(file, 'utf8')) as unknown) : undefined,
    }
  })

/** Installs packages where Debian's tools are. Returns which programs are missing all the same. */
export const installDebianPackages = (
  packages: readonly string[],
  programs: readonly string[],
): string | undefined => {
  const areMissing = () => programs.filter((program) => spawnSync('which', [program]).status !== 0)
  if (areMissing().length > 0)
    spawnSync('bash', [join(root, 'tools/ci/debian-packages.sh'), ...packages], {
      stdio: ['ignore', process.stderr.fd, 'inherit'],
    })
  const missing = areMissing()
  return missing.length === 0
    ? undefined
    : `not installed: ${missing.join(', ')}; on Debian 12: apt-get install ${packages.join(' ')}`
}
