import { readFileSync, statSync } from 'node:fs'
import {
  addressBitsOf,
  addressPartsOf,
  isAddress,
  unknownAddress,
  type AddressBits,
  type ClientAddress,
} from '../platform/http/client-address.ts'

/** How the budget of a listed network differs from that of any other. */
const factors = { carrier: 20, relay: 20, hosting: 0 } as const
type NetworkKind = keyof typeof factors

const linesMax = 500_000
const bytesMax = 32 * 1_024 * 1_024

/** The bits of an address. An IPv4 address in an IPv6 form is an IPv4 address. */
const bitsOf = (address: string): AddressBits => addressBitsOf(addressPartsOf(address))

const linePattern = /^(?<address>[0-9A-Fa-f:.]{2,45})\/(?<length>\d{1,3})\s+(?<kind>carrier|relay|hosting)$/

const notRange = 'is not a CIDR range and a kind (carrier, relay or hosting)'

/** The range and kind of a line, or what is wrong with it. */
const parseLine = (line: string): (AddressBits & { length: number; kind: NetworkKind }) | string => {
  const { address = '', length = '', kind } = linePattern.exec(line)?.groups ?? {}
  if (!isAddress(address) || kind === undefined) return notRange
  const { bits, width } = bitsOf(address)
  // No session is ever found in such a range, because its address is counted as the IPv4 address that it contains.
  if (address.includes(':') && width === 32) return 'names IPv4 addresses as IPv6: list them as IPv4'
  if (Number(length) > width || Number(length) === 0) return notRange
  return { bits, width, length: Number(length), kind: kind as NetworkKind }
}

/** The factor of the network that an address belongs to; 1 for one that is not listed. */
export type FindFactor = (address: ClientAddress) => number

type Table = { readonly length: number; readonly kinds: Map<bigint, NetworkKind> }

/** Reads a list of networks: on each line a CIDR range and a kind; `#` starts a comment. */
export const parseNetworks = (text: string): FindFactor => {
  const tables: Record<number, Table[]> = { 32: [], 128: [] }
  const lines = text.split('\n')
  if (lines.length > linesMax) throw new Error(`it has ${lines.length} lines, at most ${linesMax} are read`)
  for (const [index, raw] of lines.entries()) {
    const line = raw.replace(/#.*$/, '').trim()
    if (line === '') continue
    const entry = parseLine(line)
    if (typeof entry === 'string') throw new Error(`line ${index + 1} ${entry}: ${line.slice(0, 80)}`)
    const { bits, width, length, kind } = entry
    const ofWidth = (tables[width] ??= [])
    let table = ofWidth.find((one) => one.length === length)
    if (!table) ofWidth.push((table = { length, kinds: new Map() }))
    const prefix = bits >> BigInt(width - length)
    const known = table.kinds.get(prefix)
    if (known !== undefined && known !== kind)
      throw new Error(
        `line ${index + 1} says ${kind} of a network that an earlier line says ${known} of: ${line}`,
      )
    table.kinds.set(prefix, kind)
  }
  const longestFirst = new Map(
    Object.entries(tables).map(([width, ofWidth]) => [
      Number(width),
      ofWidth.toSorted((a, b) => b.length - a.length),
    ]),
  )
  return (address) => {
    if (address === unknownAddress) return 1
    const { bits, width } = bitsOf(address.text)
    for (const { length, kinds } of longestFirst.get(width) ?? []) {
      const kind = kinds.get(bits >> BigInt(width - length))
      if (kind !== undefined) return factors[kind]
    }
    return 1
  }
}

/** Reads NETWORKS_FILE, once, at the start. Without it, every network has the same budget. */
export const readNetworks = (path: string | undefined): FindFactor => {
  if (path === undefined) return () => 1
  try {
    const { size } = statSync(path)
    if (size > bytesMax) throw new Error(`it has ${size} bytes, at most ${bytesMax} are read`)
    return parseNetworks(readFileSync(path, 'utf8'))
  } catch (cause) {
    throw new Error(`networks cannot be read from ${path}: ${cause instanceof Error ? cause.message : ''}`, {
      cause,
    })
  }
}
