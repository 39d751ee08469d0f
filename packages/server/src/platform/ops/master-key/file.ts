import { randomBytes } from 'node:crypto'
import {
  closeSync,
  fsyncSync,
  linkSync,
  mkdirSync,
  openSync,
  readFileSync,
  renameSync,
  unlinkSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'

/** What `DATA_DIR/master.key` holds. */
export type MasterKeyFile = {
  /** The master key of each version, oldest first. There is at least one. */
  readonly versions: ReadonlyMap<number, Buffer>
  /** The keys of kept purposes, where they come from a version that is not in the file. */
  readonly kept: ReadonlyMap<string, Buffer>
}

const fileName = 'master.key'
export const masterKeyPath = (dataDir: string): string => join(dataDir, fileName)

const newKey = (): Buffer => randomBytes(32)
const lineOf = (key: Buffer): string => key.toString('base64url')

/** A version and a colon, or a purpose and a colon, then 32 bytes. A line without a name is version 1. */
const linePattern = /^(?:([1-9]\d{0,5}|[a-z][a-z-]{0,40}):)?([A-Za-z0-9_-]{43})$/

const parseMasterKey = (text: string, path: string): MasterKeyFile => {
  const versions = new Map<number, Buffer>()
  const kept = new Map<string, Buffer>()
  const lines = text.split('\n').filter((line) => line.trim() !== '')
  for (const [index, line] of lines.entries()) {
    const [, name = '1', encoded] = linePattern.exec(line.trim()) ?? []
    if (encoded === undefined)
      throw new Error(`line ${index + 1} of ${path} is no key of 32 bytes: restore the file from a backup`)
    const key = Buffer.from(encoded, 'base64url')
    const version = Number(name)
    if (Number.isNaN(version)) kept.set(name, key)
    else versions.set(version, key)
  }
  if (versions.size + kept.size < lines.length)
    throw new Error(`${path} has two lines with one name among ${lines.length}`)
  if (versions.size === 0) throw new Error(`${path} holds no master key: restore the file from a backup`)
  return { versions: new Map([...versions].toSorted(([a], [b]) => a - b)), kept }
}

const hasCode = (error: unknown, code: string): boolean =>
  error instanceof Error && 'code' in error && error.code === code

/**
 * Reads a file that holds a secret, or creates it once, mode 0600. Several processes may start at the same time: link(2)
 * makes the complete file appear, and the second process reads the first one's.
 */
const readOrCreateSecretFile = (folder: string, name: string, make: () => string): string => {
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

/** Reads the file, or makes one with version 1. */
export const readMasterKey = (dataDir: string): MasterKeyFile =>
  parseMasterKey(
    readOrCreateSecretFile(dataDir, fileName, () => `${lineOf(newKey())}\n`),
    masterKeyPath(dataDir),
  )

const formatMasterKey = ({ versions, kept }: MasterKeyFile): string =>
  [
    ...[...versions].map(([version, key]) => (version === 1 ? lineOf(key) : `${version}:${lineOf(key)}`)),
    ...[...kept].map(([purpose, key]) => `${purpose}:${lineOf(key)}`),
  ]
    .map((line) => `${line}\n`)
    .join('')

/** Replaces the file. A process that reads it meanwhile sees the whole old one or the whole new one. */
export const writeMasterKey = (dataDir: string, file: MasterKeyFile): void => {
  const path = masterKeyPath(dataDir)
  const temporaryPath = `${path}.${process.pid}.new`
  writeFileSync(temporaryPath, formatMasterKey(file), { mode: 0o600, flush: true })
  renameSync(temporaryPath, path)
  const folder = openSync(dataDir, 'r')
  fsyncSync(folder)
  closeSync(folder)
}

/** The file with a key of this version, which it may hold already: an attempt may have ended after the file was written. */
export const withVersion = (file: MasterKeyFile, version: number): MasterKeyFile =>
  file.versions.has(version) ? file : { ...file, versions: new Map([...file.versions, [version, newKey()]]) }
