import { z } from 'zod'
import type { Logger } from '../platform/ops/log.ts'
import type { Keyring } from './keyring.ts'
import { handleOperatorRequest } from './transport/operator-requests.ts'
import type { BatchRequest } from './restore/signer-records.ts'
import type { Typ } from './rules.ts'
import {
  WrongSigner,
  listenOnSocket,
  listenOnTls,
  type SignerListener,
  type SignerRequest,
  type TlsListen,
} from './transport/signer-socket.ts'

const batchMax = 256

const instantMs = z.int().min(0).max(8_640_000_000_000)
const journalSpan = z.strictObject({
  from: instantMs,
  to: instantMs,
  cursor: z.strictObject({ file: z.string().regex(/^\d{4}-\d{2}\.log$/), offset: z.int().min(0) }).optional(),
})
const version = z.int().min(0).max(1_000_000_000)
const statements = z.array(z.string()).max(100)

/** What this signer knows of the keys of the deployment, for somebody who has version `after`. */
const manifestsOf = ({ keys, signer }: Keyring, after: number | undefined) => {
  keys.current()
  const newest = keys.manifests.current()
  return {
    signer,
    admission: keys.manifests.admission() ?? null,
    version: newest?.manifest.version ?? 0,
    hash: newest?.hash ?? null,
    manifests: keys.manifests.after(after),
    revocations: keys.manifests.openRevocations().map(({ jws }) => jws),
  }
}
export type SignerManifests = ReturnType<typeof manifestsOf>

const signBatch = (keyring: Keyring, request: SignerRequest) => {
  const { id, batch, database } = request
  if (!Array.isArray(batch) || batch.length > batchMax)
    throw new Error(
      `sign request ${id} has ${Array.isArray(batch) ? `a batch of ${batch.length}` : 'no batch'}; at most ${batchMax} claims are signed at once`,
    )
  keyring.timelines.check(database)
  return keyring.sign(request as unknown as BatchRequest)
}

/**
 * The requests of api and worker. None of them makes, admits or revokes a key: a manifest is verified with the admission
 * key, and a revocation with the key of an admitted signer.
 */
const handleRequest = (keyring: Keyring, request: SignerRequest): unknown => {
  const { for: addressee } = request
  // Batches have numbers of their own signer: another one would journal them as its own.
  if (addressee !== undefined && addressee !== keyring.signer)
    throw new WrongSigner(`${request.op} request ${request.id} is for another signer than ${keyring.signer}`)
  switch (request.op) {
    case 'sign':
      return signBatch(keyring, request)
    case 'acknowledge':
      return keyring.acknowledge(request)
    case 'state':
      return keyring.state()
    case 'status-list':
      return keyring.findStatusList(String(request['list'])) ?? null
    case 'records':
      return keyring.readRecords(journalSpan.parse(request['span']))
    case 'advance':
      return keyring.advance(request)
    case 'sign-typed':
      keyring.timelines.check(request['database'])
      return keyring.signTyped(request['typ'] as Typ, request['payload'])
    case 'exchange':
      return manifestsOf(keyring, version.optional().parse(request['after']))
    case 'offer':
      keyring.keys.offer({
        manifests: statements.parse(request['manifests']),
        revocations: statements.parse(request['revocations']),
      })
      return manifestsOf(keyring, undefined).version
    case 'list':
      return keyring.list()
    case 'figures':
      return keyring.figures()
    case 'self-test':
      if (request['database'] !== undefined) keyring.timelines.compare(request['database'])
      return keyring.selfTest()
    case 'journal':
      return keyring.readJournal(journalSpan.parse(request['span']))
    default:
      throw new Error(`unknown signer operation ${request.op} in request ${request.id}`)
  }
}

type SignerServerOptions = {
  readonly socketPath: string
  readonly mode: number
  readonly operatorSocketPath: string
  /** For api processes on other machines. */
  readonly tls?: TlsListen | undefined
}

/** Serves api and worker on a Unix socket and, where asked, with TLS; and operators on a socket of their own. */
export const startSignerServer = async (
  keyring: Keyring,
  options: SignerServerOptions,
  log: Logger,
): Promise<SignerListener & { readonly tlsPort: number | undefined }> => {
  const handle = (request: SignerRequest) => handleRequest(keyring, request)
  const operators = await listenOnSocket(
    (request) => handleOperatorRequest(keyring, request, log),
    { socketPath: options.operatorSocketPath, mode: 0o600 },
    log,
  )
  const clients: SignerListener[] = [await listenOnSocket(handle, options, log)]
  const tls = options.tls && (await listenOnTls(handle, options.tls, log))
  if (tls) clients.push(tls)
  return {
    tlsPort: tls?.port,
    close: async (waitMs) => {
      await Promise.all([operators.close(0), ...clients.map((listener) => listener.close(waitMs))])
    },
  }
}
