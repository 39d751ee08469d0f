import { keyPurposes } from '@pohf/protocol'
import { z } from 'zod'
import type { Logger } from '../../platform/ops/log.ts'
import type { Keyring } from '../keyring.ts'
import type { SignerRequest } from './signer-socket.ts'

const purpose = z.enum(keyPurposes)
const kid = z.string().regex(/^[A-Za-z0-9_-]{43}$/)
/** Twelve keys of 30 days last a year. */
const reserve = z.int().min(0).max(12)
const statement = z.string().max(2_097_152)

const summaryOf = ({ keys, signer, timelines }: Keyring) => {
  const newest = keys.manifests.current()
  return {
    signer,
    identity: keys.identity,
    admission: {
      kid: keys.manifests.admission() ?? null,
      /** Where the private half is. */
      privateKey: keys.admission.key() ? 'in this key folder' : 'elsewhere',
    },
    version: newest?.manifest.version ?? null,
    signers: newest?.manifest.signers.map((each) => ({ signer: each.signer, cell: each.cell })) ?? [],
    keys: newest?.manifest.keys.length ?? 0,
    revocations: newest?.manifest.revocations.length ?? 0,
    database: timelines.current() ?? null,
  }
}

const act = (keyring: Keyring, request: SignerRequest): unknown => {
  const { keys } = keyring
  switch (request.op) {
    case 'list':
      return keyring.list()
    case 'rotate':
      return keyring.rotate(purpose.parse(request['purpose']))
    case 'revoke':
      return keyring.revoke(kid.parse(request['kid']))
    case 'show':
      return { ...summaryOf(keyring), manifest: keys.manifests.current()?.jws ?? null }
    case 'request':
      return keys.request(reserve.parse(request['reserve']))
    case 'admit':
      keys.admit(statement.parse(request['request']), {
        signFrom: request['atOnce'] === true ? 'at-once' : 'published-ahead',
        newIdentities: z.array(kid).max(64).parse(request['identities']),
      })
      return summaryOf(keyring)
    case 'install':
      keys.install(statement.parse(request['manifest']), request['replace'] === true)
      return summaryOf(keyring)
    case 'revocations':
      return keys.manifests.openRevocations().map(({ jws }) => jws)
    case 'export': {
      const key = keys.admission.key()
      if (!key)
        throw new Error(
          `the key folder of signer ${keyring.signer} has no admission key: it was exported before`,
        )
      return key.jwk
    }
    case 'forget':
      keys.admission.forget()
      return summaryOf(keyring)
    case 'import':
      keys.admission.import(request['key'])
      return summaryOf(keyring)
    case 'accept-database':
      keyring.timelines.forget()
      return summaryOf(keyring)
    default:
      throw new Error(`unknown operation ${request.op} in request ${request.id} of an operator`)
  }
}

const readOnly = new Set(['list', 'show', 'revocations'])

/** The requests of operators, on a socket that only the signer's user can open. Each change is logged before it is made. */
export const handleOperatorRequest = (keyring: Keyring, request: SignerRequest, log: Logger): unknown => {
  if (!readOnly.has(request.op))
    log.warn(
      { op: request.op, purpose: request['purpose'], kid: request['kid'], reason: request['reason'] },
      'operator changes the keys of this signer',
    )
  return act(keyring, request)
}
