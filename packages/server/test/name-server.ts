import { createSocket } from 'node:dgram'
import { Resolver } from 'node:dns/promises'
import { isIPv4 } from 'node:net'
import { after } from 'node:test'

type Answers = (query: { readonly name: string; readonly turn: number }) => readonly string[]

const readName = (message: Buffer): { name: string; end: number } => {
  const labels: string[] = []
  let at = 12
  for (let length = message[at] ?? 0; length > 0; length = message[at] ?? 0) {
    labels.push(message.toString('latin1', at + 1, at + 1 + length))
    at += 1 + length
  }
  return { name: labels.join('.'), end: at + 1 }
}

const groups = (text: string) => text.split(':').filter((group) => group !== '')
const bytesOf = (address: string): Buffer => {
  if (isIPv4(address)) return Buffer.from(address.split('.').map(Number))
  const [head = '', tail = ''] = address.split('::')
  const gap = Array.from({ length: 8 - groups(head).length - groups(tail).length }, () => '0')
  const words = [...groups(head), ...gap, ...groups(tail)].map((group) => Number.parseInt(group, 16))
  return Buffer.from(words.flatMap((word) => [word >> 8, word & 255]))
}

/** A name without such a record has none; that is no fault. */
const ask = (question: Promise<string[]>) => question.catch((): string[] => [])

/** A name server on loopback whose answers change as a test wants, with nothing to be remembered. */
export const startNameServer = async (answers: Answers) => {
  const asked: string[] = []
  const turns = new Map<string, number>()
  const socket = createSocket('udp4')
  socket.on('message', (message, peer) => {
    const { name, end } = readName(message)
    const type = message.readUInt16BE(end) === 28 ? 'AAAA' : 'A'
    const key = `${type} ${name}`
    asked.push(key)
    const turn = (turns.get(key) ?? 0) + 1
    turns.set(key, turn)
    const found = answers({ name, turn }).filter((address) => isIPv4(address) === (type === 'A'))
    const head = Buffer.alloc(12)
    message.copy(head, 0, 0, 2)
    head.writeUInt16BE(0x8180, 2)
    head.writeUInt16BE(1, 4)
    head.writeUInt16BE(found.length, 6)
    const records = found.map((address) => {
      const data = bytesOf(address)
      const record = Buffer.alloc(12)
      record.writeUInt16BE(0xc00c, 0)
      record.writeUInt16BE(type === 'A' ? 1 : 28, 2)
      record.writeUInt16BE(1, 4)
      // Bytes 6 to 9, the time to live, stay 0.
      record.writeUInt16BE(data.length, 10)
      return Buffer.concat([record, data])
    })
    socket.send(Buffer.concat([head, message.subarray(12, end + 4), ...records]), peer.port, peer.address)
  })
  await new Promise<void>((resolve) => socket.bind(0, '127.0.0.1', resolve))
  after(() => socket.close())
  const resolver = new Resolver({ timeout: 2_000, tries: 1 })
  resolver.setServers([`127.0.0.1:${socket.address().port}`])
  return {
    asked,
    /** Every address of a name, as the machine's resolver would collect them. */
    lookup: async (host: string) => {
      const found = await Promise.all([ask(resolver.resolve4(host)), ask(resolver.resolve6(host))])
      return found.flat().map((address) => ({ address }))
    },
  }
}
