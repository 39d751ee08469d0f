import { createHash } from 'node:crypto'
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { z } from 'zod'
import { createFile, readFileIfThere } from './folder/atomic-file.ts'
import { generateStatementKey, statementKeyOf, type StatementKey } from './manifest/key-pair.ts'

export const signerIdPattern = /^sgn_[0-9a-f]{16}$/
const signerFile = z.strictObject({ id: z.string().regex(signerIdPattern) })

/** A signer: its id, and the key by which it speaks for itself. */
export type SignerIdentity = { readonly signer: string; readonly key: StatementKey }

/** The key in `identity.json`, made at the first start. */
const loadIdentityKey = (folder: string): StatementKey => {
  mkdirSync(folder, { recursive: true, mode: 0o700 })
  const path = join(folder, 'identity.json')
  if (readFileIfThere(path) === undefined) createFile(path, JSON.stringify(generateStatementKey().jwk))
  return statementKeyOf(JSON.parse(readFileIfThere(path) ?? 'null'))
}

/** The identity of the signer of this folder, made at its first start. The id, in `signer.json`, never changes. */
export const loadSignerIdentity = (folder: string): SignerIdentity => {
  const key = loadIdentityKey(folder)
  const path = join(folder, 'signer.json')
  const fresh = `sgn_${createHash('sha256').update(key.kid).digest('hex').slice(0, 16)}`
  if (readFileIfThere(path) === undefined) createFile(path, JSON.stringify({ id: fresh }))
  return { signer: signerFile.parse(JSON.parse(readFileIfThere(path) ?? 'null')).id, key }
}

/** The id of the signer whose keys are in this folder. */
export const signerIdOf = (folder: string): string => loadSignerIdentity(folder).signer
