import { createHash } from 'node:crypto'
import { existsSync, mkdirSync, readFileSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { inflateSync } from 'node:zlib'
import { replaceFile } from '../folder/atomic-file.ts'

/** The last version of a status list that this signer signed. */
export type SignedList = {
  readonly list: string
  readonly version: number
  /** The hash of the uncompressed states. */
  readonly states: string
  readonly jwt: string
}

/** It is part of a file name. */
const listPattern = /^[a-z0-9-]{1,40}$/

/** The id of a list, from its address. */
export const listIdOf = (uri: string): string => {
  const id = uri.slice(uri.lastIndexOf('/') + 1)
  if (!listPattern.test(id)) throw new Error(`status list id ${id} in ${uri} has another form`)
  return id
}

/** The largest list has 2^20 states of two bits. */
const statesBytesMax = 262_144

/** The states of a list, two bits each. */
export const statesOf = (lst: string): Buffer =>
  inflateSync(Buffer.from(lst, 'base64url'), { maxOutputLength: statesBytesMax })

export const hashStates = (states: Buffer): string => createHash('sha256').update(states).digest('base64url')

/** Replaces the file of a list atomically, after the new one is on disk. */
const writeList = (folder: string, signed: SignedList): void => {
  mkdirSync(folder, { recursive: true, mode: 0o700 })
  replaceFile(join(folder, `${signed.list}.json`), JSON.stringify(signed))
}

const readLists = (folder: string): SignedList[] =>
  existsSync(folder)
    ? readdirSync(folder)
        .filter((name) => name.endsWith('.json'))
        .toSorted()
        .map((name) => JSON.parse(readFileSync(join(folder, name), 'utf8')) as SignedList)
    : []

/**
 * The newest signed version of each status list, in `KEYS_DIR/status/`. No list is signed with a version below its newest,
 * nor with other states under the same version: a database that was restored to the past cannot take a revocation back.
 */
export const openSignedLists = (folder: string) => {
  const known = new Map(readLists(folder).map((signed) => [signed.list, signed]))
  return {
    check: ({ list, version, states }: Omit<SignedList, 'jwt'>): void => {
      const last = known.get(list)
      if (!last) return
      if (version < last.version)
        throw new Error(
          `status list ${list} was signed with version ${last.version}, so version ${version} is from the past`,
        )
      if (version === last.version && states !== last.states)
        throw new Error(`version ${version} of status list ${list} was signed with other states`)
    },
    /** Returns when the new version is on disk. */
    save: (signed: SignedList): void => {
      writeList(folder, signed)
      known.set(signed.list, signed)
    },
    find: (list: string): SignedList | undefined => known.get(list),
    all: (): SignedList[] => [...known.values()],
  }
}
export type SignedLists = ReturnType<typeof openSignedLists>
