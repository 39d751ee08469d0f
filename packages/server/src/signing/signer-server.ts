import { chmodSync, rmSync } from 'node:fs'
import { createServer, type Server, type Socket } from 'node:net'
import { keyPurposes } from '@pohf/protocol'
import { z } from 'zod'
import type { Logger } from '../platform/ops/log.ts'
import type { Keyring } from './keyring.ts'
import type { KeyPurpose, Typ } from './rules.ts'

/** One line of JSON each way. A line longer than this ends the connection. */
const lineBytesMax = 8_388_608
const batchMax = 256

type SignerRequest = {
  readonly id: number
  readonly op: string
  readonly batch?: unknown[]
  readonly typ?: string
  readonly payload?: unknown
  readonly purpose?: string
  readonly kid?: string
  readonly span?: unknown
}

const instantMs = z.int().min(0).max(8_640_000_000_000)
const journalSpan = z.strictObject({
  from: instantMs,
  to: instantMs,
  cursor: z.strictObject({ file: z.string().regex(/^\d{4}-\d{2}\.log$/), offset: z.int().min(0) }).optional(),
})

const handleRequest = (keyring: Keyring, asked: SignerRequest): unknown => {
  switch (asked.op) {
    case 'sign':
      if (!Array.isArray(asked.batch) || asked.batch.length > batchMax)
        throw new Error(`a batch has at most ${batchMax}`)
      return keyring.sign(asked.batch)
    case 'sign-typed':
      return keyring.signTyped(asked.typ as Typ, asked.payload)
    case 'public-keys':
      return keyring.publicKeys()
    case 'list':
      return keyring.list()
    case 'rotate':
      if (!keyPurposes.includes(asked.purpose as KeyPurpose)) throw new Error('unknown key purpose')
      return keyring.rotate(asked.purpose as KeyPurpose)
    case 'self-test':
      return keyring.selfTest()
    case 'journal':
      return keyring.readJournal(journalSpan.parse(asked.span))
    case 'revoke':
      return keyring.revoke(String(asked.kid))
    default:
      throw new Error('unknown signer operation')
  }
}

/** The line's question, or nothing where it is none. */
const parseRequest = (line: string): SignerRequest | undefined => {
  try {
    const asked: unknown = JSON.parse(line)
    return typeof asked === 'object' && asked !== null && 'id' in asked ? (asked as SignerRequest) : undefined
  } catch {
    return undefined
  }
}

const serveConnection = (keyring: Keyring, log: Logger, socket: Socket): void => {
  let rest = ''
  // The listening socket keeps the signer alive; a caller's open line must not.
  socket.unref()
  socket.setEncoding('utf8')
  socket.on('error', () => socket.destroy())
  socket.on('data', (chunk: string) => {
    const lines = (rest + chunk).split('\n')
    rest = lines.pop() ?? ''
    if (rest.length > lineBytesMax) socket.destroy()
    for (const line of lines) {
      const asked = parseRequest(line)
      // Whoever does not speak this language is not answered; the other lines go on.
      if (!asked) {
        socket.destroy()
        return
      }
      try {
        socket.write(`${JSON.stringify({ id: asked.id, result: handleRequest(keyring, asked) })}\n`)
      } catch (error) {
        log.error({ err: error, op: asked.op }, 'signer request failed')
        socket.write(
          `${JSON.stringify({ id: asked.id, error: error instanceof Error ? error.message : 'refused' })}\n`,
        )
      }
    }
  })
}

type SocketOptions = { readonly socketPath: string; readonly mode: number }

/** Listens on a Unix socket: mode 0600 for its own user alone, 0660 for the group of the socket's folder as well. */
export const startSignerServer = async (
  keyring: Keyring,
  { socketPath, mode }: SocketOptions,
  log: Logger,
): Promise<Server> => {
  // A signer that was killed leaves its socket file behind.
  rmSync(socketPath, { force: true })
  const server = createServer((socket) => serveConnection(keyring, log, socket))
  await new Promise<void>((resolve, reject) => server.once('error', reject).listen(socketPath, resolve))
  chmodSync(socketPath, mode)
  return server
}
