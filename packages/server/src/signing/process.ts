import { chmodSync, rmSync } from 'node:fs'
import { createServer, type Server, type Socket } from 'node:net'
import type { Logger } from '../platform/log.ts'
import type { Keyring } from './keyring.ts'
import { keyPurposes, type KeyPurpose, type Typ } from './rules.ts'

/** One line of JSON each way. A line longer than this ends the connection. */
const lineBytesMax = 8_388_608
const batchMax = 256

type Asked = {
  readonly id: number
  readonly op: string
  readonly batch?: unknown[]
  readonly typ?: string
  readonly payload?: unknown
  readonly purpose?: string
  readonly kid?: string
}

const answer = (keyring: Keyring, asked: Asked): unknown => {
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
      if (!keyPurposes.includes(asked.purpose as KeyPurpose)) throw new Error('no such purpose')
      return keyring.rotate(asked.purpose as KeyPurpose)
    case 'revoke':
      return keyring.revoke(String(asked.kid))
    default:
      throw new Error('no such operation')
  }
}

const serve = (keyring: Keyring, log: Logger, socket: Socket): void => {
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
      const asked = JSON.parse(line) as Asked
      try {
        socket.write(`${JSON.stringify({ id: asked.id, result: answer(keyring, asked) })}\n`)
      } catch (error) {
        log.error({ err: error, op: asked.op }, 'the signer refused')
        socket.write(
          `${JSON.stringify({ id: asked.id, error: error instanceof Error ? error.message : 'refused' })}\n`,
        )
      }
    }
  })
}

/** Listens on a Unix socket that only this user may open. */
export const listenAsSigner = async (keyring: Keyring, socketPath: string, log: Logger): Promise<Server> => {
  // A signer that was killed leaves its socket file behind.
  rmSync(socketPath, { force: true })
  const server = createServer((socket) => serve(keyring, log, socket))
  await new Promise<void>((resolve, reject) => server.once('error', reject).listen(socketPath, resolve))
  chmodSync(socketPath, 0o600)
  return server
}
