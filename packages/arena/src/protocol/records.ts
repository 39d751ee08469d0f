// Opens the records of a session with the key of its agent.
import { createDecipheriv } from 'node:crypto'
import type { TelemetryRecord } from '@pohf/protocol/telemetry'

type SealedChunk = { readonly ciphertext: string; readonly key: string }
type Page = { readonly chunks: readonly SealedChunk[]; readonly nextFrom: number | null }
type Owner = { readonly baseUrl: string; readonly apiKey: string }

const pagesMax = 100
const tagBytes = 16

const openRecord = ({ ciphertext, key }: SealedChunk): TelemetryRecord => {
  const bytes = Buffer.from(ciphertext, 'base64url')
  const cipher = createDecipheriv('aes-256-gcm', Buffer.from(key, 'base64url'), Buffer.alloc(12), {
    authTagLength: tagBytes,
  })
  cipher.setAuthTag(bytes.subarray(-tagBytes))
  const plain = Buffer.concat([cipher.update(bytes.subarray(0, -tagBytes)), cipher.final()])
  return JSON.parse(plain.toString('utf8')) as TelemetryRecord
}

/** All records of a finished session, in order. */
export const readRecords = async (owner: Owner, sessionId: string): Promise<TelemetryRecord[]> => {
  const records: TelemetryRecord[] = []
  let from: number | null = 1
  for (let page = 0; page < pagesMax && from !== null; page += 1) {
    const path = `/api/agents/sessions/${encodeURIComponent(sessionId)}/chunks?from=${from}&limit=100`
    const response = await fetch(new URL(path, owner.baseUrl), {
      headers: { authorization: `Bearer ${owner.apiKey}` },
      signal: AbortSignal.timeout(15_000),
    })
    if (!response.ok)
      throw new Error(
        `chunks of session ${sessionId} from ${from} cannot be read: ${response.status} ${await response.text()}`,
      )
    const { chunks, nextFrom } = (await response.json()) as Page
    records.push(...chunks.map(openRecord))
    from = nextFrom
  }
  return records
}
