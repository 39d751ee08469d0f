// How settings of each kind are written.
import { z } from 'zod'
import { holdMoreThan, readRange } from '../net/address-range.ts'
import { isLoopbackHost } from '../net/loopback.ts'

export const port = (description: string) =>
  z
    .string()
    .regex(/^\d{1,5}$/, 'must be a port number')
    .transform(Number)
    .pipe(z.int().min(0).max(65_535))
    .optional()
    .meta({ description })

const digits = z
  .string()
  .regex(/^\d{1,12}$/, 'must be a whole number')
  .transform(Number)
const wholeNumber = (min: number, max: number) => digits.pipe(z.int().min(min).max(max))

export const integer = (min: number, max: number, fallback: number, description: string) =>
  wholeNumber(min, max).default(fallback).meta({ description })

/** For a default that depends on other settings. */
export const integerOrUnset = (min: number, max: number, description: string) =>
  wholeNumber(min, max).optional().meta({ description })

export const evmAddress = (description: string) =>
  z
    .string()
    .regex(/^0x[0-9a-fA-F]{40}$/, 'must be an EVM address')
    .optional()
    .meta({ description })

/** An agent by its id, or the platform's own. */
export const demoSite = (description: string) =>
  z
    .string()
    .regex(/^(platform|agt_[0-9A-Za-z]{10,64})$/, 'must be platform or the id of an agent, agt_…')
    .optional()
    .meta({ description })

/** The host part of a URL: IPv6 in brackets. */
export const bracketIpv6 = (name: string) => (name.includes(':') ? `[${name}]` : name)

export const isHost = (name: string): boolean =>
  /^[0-9A-Za-z.:_-]+$/.test(name) && URL.canParse(`http://${bracketIpv6(name)}`)

/** Whether browsers have passkeys at this address: they need a host name, and TLS except on this machine. */
export const canHavePasskeys = (address: string): boolean => {
  if (!URL.canParse(address)) return false
  const { protocol, hostname } = new URL(address)
  // A URL writes every IPv4 address with three dots, and IPv6 in brackets.
  const isName = !/^(\[|\d+(\.\d+){3}$)/.test(hostname)
  return isName && (protocol === 'https:' || (protocol === 'http:' && isLoopbackHost(hostname)))
}

export const host = (description: string) =>
  z.string().refine(isHost, 'must be a host name or address').default('127.0.0.1').meta({ description })

export const path = (description: string) => z.string().min(1).max(4_096).optional().meta({ description })

/** The items of a list that is written with commas. */
export const splitList = (text: string): string[] =>
  text
    .split(',')
    .map((item) => item.trim())
    .filter((item) => item !== '')

/** An IP address, or one with a port: IPv6 in brackets. */
const resolverPattern = /^(\d{1,3}(\.\d{1,3}){3}(:\d{1,5})?|[0-9a-fA-F:]{2,45}|\[[0-9a-fA-F:]{2,45}\](:\d{1,5})?)$/

export const resolvers = (description: string) =>
  z
    .string()
    .default('')
    .transform(splitList)
    .pipe(z.array(z.string().regex(resolverPattern, 'must be IP addresses, each with an optional port')).max(4))
    .meta({ description })

/** A sixteenth is about fourteen /8 networks of IPv4. No deployment has proxies in so many. */
const trustedPartsMin = 16n

/** Addresses and ranges whose X-Forwarded-For is believed. */
export const proxies = (description: string) =>
  z
    .string()
    .default('')
    .transform(splitList)
    .pipe(
      z
        .array(z.union([z.ipv4(), z.ipv6(), z.cidrv4(), z.cidrv6()], 'must be addresses or CIDR ranges'))
        .max(64)
        .refine(
          (texts) => !holdMoreThan(trustedPartsMin, texts.map(readRange)),
          'must not trust more than a sixteenth of all addresses: name your proxies',
        ),
    )
    .meta({ description })
