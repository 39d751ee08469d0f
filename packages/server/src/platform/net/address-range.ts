import { addressBitsOf, peerPartsOf, type AddressBits } from '../http/client-address.ts'

/** The addresses of a CIDR range, from the first to the last. */
export type AddressRange = { readonly width: number; readonly first: bigint; readonly last: bigint }

/** Reads a valid address or CIDR range. A range of IPv4-mapped addresses is the range of the IPv4 addresses. */
export const readRange = (text: string): AddressRange => {
  const [address = '', length] = text.split('/')
  const { bits, width } = addressBitsOf(peerPartsOf(address))
  const writtenWidth = address.includes(':') ? 128 : 32
  const fixed = length === undefined ? width : Math.max(0, Number(length) - writtenWidth + width)
  const free = BigInt(width - fixed)
  const first = (bits >> free) << free
  return { width, first, last: first + (1n << free) - 1n }
}

export const isInRange = ({ bits, width }: AddressBits, { first, last, ...range }: AddressRange): boolean =>
  range.width === width && first <= bits && bits <= last

/** The unicast addresses of IPv4, and those of IPv6 that are assigned on the internet. */
const internet = ['1.0.0.0-223.255.255.255', '2000::-3fff:ffff:ffff:ffff:ffff:ffff:ffff:ffff'].map((text) => {
  const [first = '', last = ''] = text.split('-')
  const { bits, width } = addressBitsOf(peerPartsOf(first))
  return { width, first: bits, last: addressBitsOf(peerPartsOf(last)).bits }
})

const min = (a: bigint, b: bigint): bigint => (a < b ? a : b)
const max = (a: bigint, b: bigint): bigint => (a > b ? a : b)

/** How many addresses of a space the ranges hold together. */
const countTogether = (space: AddressRange, ranges: readonly AddressRange[]): bigint => {
  let [count, next] = [0n, space.first]
  for (const { first, last } of ranges
    .filter(({ width }) => width === space.width)
    .toSorted((a, b) => (a.first < b.first ? -1 : 1))) {
    const [from, to] = [max(first, next), min(last, space.last)]
    if (to < from) continue
    count += to - from + 1n
    next = to + 1n
  }
  return count
}

/** Whether the ranges together hold more than this part of the IPv4 or IPv6 internet: `parts` 16 is a sixteenth. */
export const holdMoreThan = (parts: bigint, ranges: readonly AddressRange[]): boolean =>
  internet.some((space) => countTogether(space, ranges) * parts > space.last - space.first + 1n)
