import { randomBytes } from 'node:crypto'
import { linkSync, mkdirSync, readFileSync, unlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

const hasCode = (error: unknown, code: string): boolean =>
  error instanceof Error && 'code' in error && error.code === code

/**
 * Reads a file that holds a secret, or creates it once, mode 0600. Several processes may start at the same time: link(2)
 * makes the complete file appear, and the second process reads the first one's.
 */
export const readOrCreateSecretFile = (folder: string, name: string, make: () => string): string => {
  mkdirSync(folder, { recursive: true, mode: 0o700 })
  const path = join(folder, name)
  try {
    return readFileSync(path, 'utf8')
  } catch (error) {
    if (!hasCode(error, 'ENOENT')) throw error
  }
  const temporaryPath = `${path}.${process.pid}.${randomBytes(4).toString('hex')}`
  writeFileSync(temporaryPath, make(), { mode: 0o600, flush: true })
  try {
    linkSync(temporaryPath, path)
  } catch (error) {
    if (!hasCode(error, 'EEXIST')) throw error
  } finally {
    unlinkSync(temporaryPath)
  }
  return readFileSync(path, 'utf8')
}
