import {
  closeSync,
  fsyncSync,
  linkSync,
  openSync,
  readFileSync,
  renameSync,
  rmSync,
  writeSync,
} from 'node:fs'
import { dirname } from 'node:path'

const writeDraft = (path: string, text: string): string => {
  const draft = `${path}.${process.pid}.new`
  const file = openSync(draft, 'w', 0o600)
  try {
    const bytes = Buffer.from(text)
    for (let written = 0; written < bytes.length;) written += writeSync(file, bytes, written)
    fsyncSync(file)
  } finally {
    closeSync(file)
  }
  return draft
}

/** A new name is on disk only when its folder is. */
export const syncFolder = (path: string): void => {
  const folder = openSync(dirname(path), 'r')
  try {
    fsyncSync(folder)
  } finally {
    closeSync(folder)
  }
}

/** Replaces the file atomically, after the new one is on disk. Mode 0600. */
export const replaceFile = (path: string, text: string): void => {
  renameSync(writeDraft(path, text), path)
  syncFolder(path)
}

/** Creates the file whole, or leaves the one that is there: false. Mode 0600. */
export const createFile = (path: string, text: string): boolean => {
  const draft = writeDraft(path, text)
  try {
    linkSync(draft, path)
    syncFolder(path)
    return true
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'EEXIST') return false
    throw error
  } finally {
    rmSync(draft, { force: true })
  }
}

/** The text of a file; undefined where there is none. */
export const readFileIfThere = (path: string): string | undefined => {
  try {
    return readFileSync(path, 'utf8')
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return undefined
    throw error
  }
}
