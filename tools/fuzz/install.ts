import { spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

const requirementsFile = join(import.meta.dirname, 'requirements.txt')

/** The Python that can install schemathesis, if there is one. */
export const findPython = (): string | undefined => {
  const probe = 'import ensurepip, sys, venv; sys.exit(sys.version_info < (3, 11))'
  return spawnSync('python3', ['-c', probe], { stdio: 'ignore' }).status === 0 ? 'python3' : undefined
}

const runPython = (program: string, ...parameters: readonly string[]): void => {
  const { status } = spawnSync(program, parameters, { stdio: ['ignore', 'ignore', 'inherit'] })
  if (status !== 0) throw new Error(`${program} ${parameters.join(' ')} ended with code ${status}`)
}

/** Installs schemathesis, as requirements.txt pins it, into a virtual environment that is kept, and returns its program. */
export const installSchemathesis = (python: string): string => {
  const requirements = readFileSync(requirementsFile, 'utf8')
  const version = /^schemathesis==(\S+)/m.exec(requirements)?.[1]
  if (version === undefined) throw new Error(`${requirementsFile} does not name schemathesis`)
  const root = join(import.meta.dirname, '../..')
  const folder = join(root, `node_modules/.cache/schemathesis-${version}`)
  const installed = join(folder, 'installed')
  const hash = createHash('sha256').update(requirements).digest('hex')
  if (existsSync(installed) && readFileSync(installed, 'utf8') === hash)
    return join(folder, 'bin/schemathesis')
  rmSync(folder, { recursive: true, force: true })
  runPython(python, '-m', 'venv', folder)
  const pip = ['-m', 'pip', 'install', '--quiet', '--disable-pip-version-check', '--require-hashes']
  runPython(join(folder, 'bin/python'), ...pip, '--only-binary', ':all:', '--requirement', requirementsFile)
  writeFileSync(installed, hash)
  return join(folder, 'bin/schemathesis')
}
