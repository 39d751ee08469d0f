import { createCipheriv, createDecipheriv, hkdfSync } from 'node:crypto'
import { leafBytes, type TelemetryRecord } from '@pohf/protocol/telemetry'
import { canonicalJson } from '../../platform/ops/canonical.ts'
import type { Secrets } from '../../platform/ops/secrets.ts'
import { sha256 } from './chain.ts'

/** Purpose of the key that encrypts subject keys. */
const purpose = 'session-key'
export const sealSubjectKey = (secrets: Secrets, key: string): string => secrets.seal(purpose, key)
export const openSubjectKey = (secrets: Secrets, sealed: string): Buffer =>
  Buffer.from(secrets.open(purpose, sealed), 'base64url')

/** The key of one record: revealing it decrypts that record and no other. */
export const recordKey = (subjectKey: Buffer, sessionId: string, seq: number): Buffer =>
  Buffer.from(hkdfSync('sha256', subjectKey, sessionId, `pohf.record.v1.${seq}`, 32))

/** A key is used for one record, so the IV may be fixed. */
const iv = Buffer.alloc(12)
const authTagLength = 16

export const sealRecord = (key: Buffer, record: TelemetryRecord): Buffer => {
  const cipher = createCipheriv('aes-256-gcm', key, iv, { authTagLength })
  return Buffer.concat([cipher.update(canonicalJson(record), 'utf8'), cipher.final(), cipher.getAuthTag()])
}

export const openRecord = (key: Buffer, ciphertext: Buffer): TelemetryRecord => {
  const decipher = createDecipheriv('aes-256-gcm', key, iv, { authTagLength })
  decipher.setAuthTag(ciphertext.subarray(-authTagLength))
  const plain = [decipher.update(ciphertext.subarray(0, -authTagLength)), decipher.final()]
  return JSON.parse(Buffer.concat(plain).toString('utf8')) as TelemetryRecord
}

export const leafOf = (ciphertext: Buffer): Buffer => sha256(leafBytes(ciphertext))
