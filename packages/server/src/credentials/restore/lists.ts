import { decodeJwt, decodeProtectedHeader } from 'jose'
import type { Ctx } from '../../platform/ops/context.ts'
import type { Tx } from '../../platform/db/db.ts'
import { makeChangeCredentialState } from '../status/change-state.ts'
import { listEtag, statusAt, type CredentialState } from '../status/rules.ts'
import { findListVersion, updateEntry, updateListBuilt, type BuiltList } from '../status/store.ts'
import {
  findListLocked,
  insertClosedList,
  listCredentialsAt,
  listEntries,
  listForgottenAt,
  raiseVersion,
  updateForgottenState,
} from './store.ts'

/** A status list as it was published last. */
export type PublishedStates = {
  readonly list: string
  readonly version: number
  /** Two bits for each index. */
  readonly states: Buffer
  readonly jwt: string
}

const listPattern = /^[a-z0-9]{2}-(live|test)-([0-9]+)$/
const layoutOf = (listId: string) => {
  const [, mode, number] = listPattern.exec(listId) ?? []
  if ((mode !== 'live' && mode !== 'test') || number === undefined)
    throw new Error(`${listId} is not the id of a status list`)
  return { mode, number: Number(number) } as const
}

/** Inserts a list that the database does not have; nobody gets an index of it. */
export const ensureList = async (tx: Tx, listId: string, entries: number): Promise<void> => {
  if ((await findListLocked(tx, listId)) === undefined)
    await insertClosedList(tx, { listId, ...layoutOf(listId), entries })
}

const stateOf: readonly CredentialState[] = ['issued', 'revoked', 'suspended']

/**
 * Indexes whose published state differs from the stored state. `revoked` is final on both sides. Other states count only if
 * the published list is newer than the stored one, because an older copy lacks later suspensions and reinstatements.
 */
const differencesOf = (
  { states, version }: Pick<PublishedStates, 'states' | 'version'>,
  storedVersion: number,
  stored: ReadonlyMap<number, number>,
): Map<number, CredentialState> => {
  const differences = new Map<number, CredentialState>()
  for (let index = 0; index < states.length * 4; index++) {
    const published = statusAt(states, index)
    const known = stored.get(index) ?? 0
    const state = stateOf[published]
    const counts = state === 'revoked' || version > storedVersion
    if (published !== known && known !== 1 && state !== undefined && counts) differences.set(index, state)
  }
  return differences
}

const reason = 'published before the database was restored'
const valueOf = { issued: 0, revoked: 1, suspended: 2 } as const

const builtListOf = ({ list, version, jwt }: PublishedStates): BuiltList => ({
  listId: list,
  version: BigInt(version),
  at: new Date(Number(decodeJwt(jwt).iat) * 1_000),
  kid: decodeProtectedHeader(jwt).kid ?? '',
  etag: listEtag(jwt),
  jwt,
})

/**
 * Applies the states of a published list to the restored one, and raises its version above the published one. The published
 * one is served until the next is built: what the database has is older.
 */
export const makeApplyPublished =
  (ctx: Ctx) =>
  async (tx: Tx, published: PublishedStates): Promise<number> => {
    const { list, version, states } = published
    await ensureList(tx, list, states.length * 4)
    const storedVersion = (await findListLocked(tx, list)) ?? -1
    const differences = differencesOf(published, storedVersion, await listEntries(tx, list))
    const indexes = [...differences.keys()]
    const changeState = makeChangeCredentialState(ctx)
    const stored = new Map(
      (await listCredentialsAt(tx, list, indexes)).map(({ index, credentialId }) => [index, credentialId]),
    )
    const forgotten = new Map(
      (await listForgottenAt(tx, list, indexes)).map(({ index, credentialId }) => [index, credentialId]),
    )
    for (const [index, state] of differences) {
      const [credentialId, forgottenId] = [stored.get(index), forgotten.get(index)]
      if (credentialId !== undefined) await changeState(tx, { credentialId, reason, to: state })
      else await updateEntry(tx, { listId: list, idx: index, value: valueOf[state] })
      if (forgottenId !== undefined) await updateForgottenState(tx, forgottenId, { state, grounds: [] })
    }
    await raiseVersion(tx, list, version)
    await updateListBuilt(tx, builtListOf(published))
    return differences.size
  }

/** How many states of a published list the database does not have. */
export const countDifferences = async (tx: Tx, published: PublishedStates): Promise<number> => {
  const storedVersion = Number((await findListVersion(tx, published.list)) ?? -1)
  return differencesOf(published, storedVersion, await listEntries(tx, published.list)).size
}
