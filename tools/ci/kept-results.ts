import { spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'

const folder = 'node_modules/.cache'
const file = `${folder}/passed-checks.json`

/** Every file of the checkout that git does not ignore, with a hash of what is in it now. */
export const hashFiles = (): ReadonlyMap<string, string> => {
  const { stdout, status } = spawnSync(
    'git',
    ['ls-files', '-z', '--cached', '--others', '--exclude-standard'],
    {
      encoding: 'utf8',
      maxBuffer: 64 * 2 ** 20,
    },
  )
  if (status !== 0) throw new Error('git ls-files failed: results can be kept in a checkout of git only')
  const paths = [...new Set(stdout.split('\0').filter((path) => path !== '' && existsSync(path)))].toSorted()
  return new Map(paths.map((path) => [path, createHash('sha1').update(readFileSync(path)).digest('hex')]))
}

/** One hash of all files at or below the given paths; a folder ends in `/`, and the empty path is every file. */
export const hashInputs = (files: ReadonlyMap<string, string>, inputs: readonly string[]): string => {
  const hash = createHash('sha256').update(process.version)
  for (const [path, content] of files)
    if (
      inputs.some(
        (input) => input === '' || path === input || (input.endsWith('/') && path.startsWith(input)),
      )
    )
      hash.update(`${path} ${content}\n`)
  return hash.digest('hex')
}

/** The hashes of the inputs with which each check passed last. CI starts without any: this is for developers. */
export const readPassed = (): Record<string, string> =>
  existsSync(file) ? (JSON.parse(readFileSync(file, 'utf8')) as Record<string, string>) : {}

export const keepPassed = (name: string, hash: string): void => {
  mkdirSync(folder, { recursive: true })
  writeFileSync(file, JSON.stringify({ ...readPassed(), [name]: hash }, null, 1))
}
