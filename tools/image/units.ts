import { spawnSync } from 'node:child_process'
import { readFileSync, readdirSync } from 'node:fs'
import { join, resolve } from 'node:path'

export const unitFolder = resolve(import.meta.dirname, '../../deploy/systemd')
export const services = readdirSync(unitFolder).filter((name) => name.endsWith('.service'))

export const hasSystemdAnalyze = (): boolean => spawnSync('systemd-analyze', ['--version']).status === 0

/** The exposure of a unit by `systemd-analyze security`: 0 is the best, 10 the worst. */
export const exposureOf = (file: string): number => {
  const { stdout, stderr } = spawnSync(
    'systemd-analyze',
    ['security', '--offline=true', '--no-pager', file],
    { encoding: 'utf8' },
  )
  const [, level] = /Overall exposure level for \S+: ([\d.]+)/.exec(stdout) ?? []
  if (level === undefined) throw new Error(`systemd-analyze security did not rate ${file}: ${stderr}`)
  return Number(level)
}

/** What systemd says about the files as a whole, without the program that is not installed here. */
export const unitWarnings = (): string[] => {
  const files = readdirSync(unitFolder)
    .filter((name) => /\.(?:service|target)$/.test(name))
    .map((name) => join(unitFolder, name))
  const { stderr } = spawnSync('systemd-analyze', ['verify', '--recursive-errors=no', ...files], {
    encoding: 'utf8',
  })
  return stderr
    .split('\n')
    .filter((line) => line.trim() !== '' && !line.includes('is not executable: No such file or directory'))
}

/** The directives of a unit by name; a directive that stands there twice has two values. */
export const readUnit = (file: string): ReadonlyMap<string, readonly string[]> =>
  new Map(
    [
      ...Map.groupBy(
        readFileSync(join(unitFolder, file), 'utf8').matchAll(/^([A-Z]\w+)=(.*)$/gm),
        ([, name = '']) => name,
      ),
    ].map(([name, lines]) => [name, lines.map(([, , value = '']) => value)]),
  )
