import type { Signer } from '../signer-client.ts'
import type { PublishedStates } from './parts.ts'
import type { SubmittedDocuments } from './submitted-documents.ts'
import { statesOf } from './signed-lists.ts'
import type { SignerState } from './signer-records.ts'

const decodeStates = (jwt: string): Buffer => {
  const payload = JSON.parse(Buffer.from(jwt.split('.')[1] ?? '', 'base64url').toString('utf8')) as {
    status_list: { lst: string }
  }
  return statesOf(payload.status_list.lst)
}

/** The newest version of each status list that any signer has or an operator handed in. */
export const readPublished = async (
  signer: Signer,
  states: readonly SignerState[],
  presented: SubmittedDocuments,
): Promise<PublishedStates[]> => {
  const newest = new Map<string, PublishedStates>()
  const add = (published: PublishedStates) => {
    if (published.version >= (newest.get(published.list)?.version ?? -1))
      newest.set(published.list, published)
  }
  for (const { list, version } of states.flatMap((state) => state.lists)) {
    const jwt = await signer.findStatusList(list)
    if (jwt !== undefined) add({ list, version, states: decodeStates(jwt), jwt })
  }
  for (const published of presented.lists) add(published)
  return [...newest.values()]
}
