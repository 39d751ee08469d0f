import { createHash } from 'node:crypto'
import { readFileSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import type { z } from 'zod'
import { isLoopbackHost } from '../net/loopback.ts'
import { observabilitySettings } from './observability-settings.ts'
import { bracketIpv6, isHost } from './setting-fields.ts'
import { secretSettings } from './secret-settings.ts'
import { settings } from './settings.ts'

type Token = {
  readonly symbol: string
  readonly chainId: number
  readonly address: string
  readonly decimals: number
}
const tokenOf = (item: string): Token => {
  const [, symbol = '', chainId, address = '', decimals] =
    /^([a-z0-9]+):(\d+)=(0x[0-9a-fA-F]{40})(?:\/(\d+))?$/.exec(item) ?? []
  return {
    symbol,
    chainId: Number(chainId),
    address: address.toLowerCase(),
    decimals: decimals === undefined ? 6 : Number(decimals),
  }
}

type Settings = z.output<typeof settings>

/** Every setting, with the defaults filled in that depend on other settings. */
export type Config = Omit<
  Settings,
  | 'PORT'
  | 'BASE_URL'
  | 'OPERATOR_PORT'
  | 'OPERATOR_BASE_URL'
  | 'KEYS_DIR'
  | 'SIGNER_SOCKET'
  | 'SIGNER_OPERATOR_SOCKET'
  | 'DRAIN_SECONDS'
  | 'EVM_RPC_URLS'
  | 'ONCHAIN_REGISTRIES'
  | 'BINDING_TOKENS'
> & {
  readonly PORT: number
  readonly BASE_URL: string
  readonly OPERATOR_PORT: number
  readonly OPERATOR_BASE_URL: string
  readonly KEYS_DIR: string
  readonly SIGNER_SOCKET: string
  readonly SIGNER_OPERATOR_SOCKET: string
  readonly DRAIN_SECONDS: number
  /** By chain id. */
  readonly EVM_RPC_URLS: ReadonlyMap<number, string>
  /** By chain id; addresses in lower case. */
  readonly ONCHAIN_REGISTRIES: ReadonlyMap<number, string>
  /** By chain id; addresses in lower case. */
  readonly BINDING_TOKENS: ReadonlyMap<number, readonly Token[]>
  readonly loopback: boolean
  readonly addressLimits: boolean
  readonly rootBudgets: boolean
}

/** Lists every fault of the configuration at once, before anything starts. */
export class ConfigFaults extends Error {
  readonly faults: readonly string[]
  constructor(faults: readonly string[]) {
    super(
      `The configuration has ${faults.length} fault${faults.length === 1 ? '' : 's'}:\n${faults.map((fault) => `  - ${fault}`).join('\n')}\nSee docs/reference/settings.md.`,
    )
    this.faults = faults
  }
}

/** A Unix socket path holds about 100 characters; a deeper folder gets a short path in the temporary folder. */
const defaultSocketPath = (folder: string, name: string): string => {
  const path = join(folder, name)
  return path.length <= 100
    ? path
    : join(tmpdir(), `pohf-${createHash('sha256').update(path).digest('hex').slice(0, 16)}.sock`)
}

const signerPaths = (
  value: Pick<Settings, 'DATA_DIR' | 'KEYS_DIR' | 'SIGNER_SOCKET' | 'SIGNER_OPERATOR_SOCKET'>,
) => {
  const dataDir = resolve(value.DATA_DIR)
  const keysDir = resolve(value.KEYS_DIR ?? join(dataDir, 'keys'))
  return {
    DATA_DIR: dataDir,
    KEYS_DIR: keysDir,
    SIGNER_SOCKET: value.SIGNER_SOCKET ?? defaultSocketPath(dataDir, 'signer.sock'),
    SIGNER_OPERATOR_SOCKET: value.SIGNER_OPERATOR_SOCKET ?? defaultSocketPath(keysDir, 'operator.sock'),
  }
}

const chainEntryOf = (item: string): [number, string] => {
  const at = item.indexOf('=')
  return [Number(item.slice(0, at)), item.slice(at + 1)]
}

/** Whether a listener at this address can be reached from this machine alone. */
const isLoopbackListener = (host: string): boolean =>
  isLoopbackHost(new URL(`http://${bracketIpv6(host)}`).hostname)

/** Where only this machine can reach the service, no load balancer has to see that it stops. */
const drainSecondsDefault = (loopback: boolean, stopSeconds: number): number =>
  loopback ? 0 : Math.min(5, Math.floor(stopSeconds / 2))

const withDefaults = (value: Settings): Config => {
  const portNumber = value.PORT ?? 3_000
  const baseUrl = (value.BASE_URL ?? `http://${bracketIpv6(value.HOST)}:${portNumber}`).replace(/\/+$/, '')
  const operatorPort = value.OPERATOR_PORT ?? (portNumber === 0 ? 0 : portNumber + 1)
  // A name of its own, so that no other server on this machine gets the cookie: cookies know no ports.
  const operatorHost = isLoopbackListener(value.OPERATOR_HOST)
    ? 'operators.localhost'
    : bracketIpv6(value.OPERATOR_HOST)
  const operatorBaseUrl = value.OPERATOR_BASE_URL ?? `http://${operatorHost}:${operatorPort}`
  // A loopback deployment has weaker limits, so nothing of it may be reachable from outside.
  const loopback =
    isLoopbackHost(new URL(baseUrl).hostname) &&
    isLoopbackListener(value.HOST) &&
    isLoopbackListener(value.OPERATOR_HOST) &&
    isLoopbackHost(new URL(operatorBaseUrl).hostname)
  return {
    ...value,
    PORT: portNumber,
    BASE_URL: baseUrl,
    OPERATOR_PORT: operatorPort,
    OPERATOR_BASE_URL: operatorBaseUrl,
    ...signerPaths(value),
    DRAIN_SECONDS: value.DRAIN_SECONDS ?? drainSecondsDefault(loopback, value.STOP_SECONDS),
    EVM_RPC_URLS: new Map(value.EVM_RPC_URLS.map(chainEntryOf)),
    ONCHAIN_REGISTRIES: new Map(value.ONCHAIN_REGISTRIES.map((item) => chainEntryOf(item.toLowerCase()))),
    BINDING_TOKENS: Map.groupBy(value.BINDING_TOKENS.map(tokenOf), ({ chainId }) => chainId),
    loopback,
    addressLimits: value.ADDRESS_LIMITS === 'on' || (value.ADDRESS_LIMITS === 'auto' && !loopback),
    rootBudgets: value.ROOT_BUDGETS === 'on' || (value.ROOT_BUDGETS === 'auto' && !loopback),
  }
}

/** A default public address would count as loopback: limits by address off, and webhooks to this machine allowed. */
const publicAddressFaults = (values: Record<string, string | undefined>): string[] =>
  values['BASE_URL'] === undefined
    ? ['HOST', 'OPERATOR_HOST']
        .filter((name) => {
          const host = values[name] ?? '127.0.0.1'
          return isHost(host) && !isLoopbackListener(host)
        })
        .map(
          (name) =>
            `BASE_URL is required where ${name} is not a loopback address: set it to the address that clients use, such as https://pohf.example`,
        )
    : []

/** Real payments need a recipient. */
const payToFaults = (values: Record<string, string | undefined>): string[] =>
  values['X402_PAY_TO'] === undefined &&
  (values['X402_NETWORK'] === 'base' || values['X402_CHAIN_RPC'] !== undefined)
    ? ['X402_PAY_TO is required on base and wherever X402_CHAIN_RPC is set']
    : []

/** One submitter at most, and the chain must be readable to check its transactions. */
const settlementFaults = (values: Record<string, string | undefined>): string[] => {
  const submitters = ['X402_GAS_KEYS_FILE', 'X402_FACILITATOR_URL'].filter(
    (name) => values[name] !== undefined,
  )
  return [
    ...(submitters.length > 1 ? ['X402_GAS_KEYS_FILE and X402_FACILITATOR_URL exclude each other'] : []),
    ...(submitters.length > 0 && values['X402_CHAIN_RPC'] === undefined
      ? [`X402_CHAIN_RPC is required where ${submitters[0]} is set`]
      : []),
  ]
}

/** Without the webhook secret, card payments would be taken and never posted. */
const cardFaults = (values: Record<string, string | undefined>): string[] =>
  (values['STRIPE_SECRET_KEY'] === undefined) === (values['STRIPE_WEBHOOK_SECRET'] === undefined)
    ? []
    : ['STRIPE_SECRET_KEY and STRIPE_WEBHOOK_SECRET must be set together']

/** The ports of the metrics listeners follow each other. */
const metricsPortFaults = (values: Record<string, string | undefined>): string[] =>
  Number(values['METRICS_PORT'] ?? 0) > 65_533
    ? ['METRICS_PORT must be 65533 or less: npm start also uses the two ports after it']
    : []

/** The environment of a process that `npm start` runs: each has a metrics port of its own. */
export const childEnvironment = (portOffset: number, environment = process.env): NodeJS.ProcessEnv => {
  const first = Number(environment['METRICS_PORT'] ?? '')
  return first > 0 ? { ...environment, METRICS_PORT: String(first + portOffset) } : environment
}

/** Two listeners cannot share one port, and PORT + 1 may be out of range. */
const portFaults = (values: Record<string, string | undefined>): string[] => {
  const portNumber = Number(values['PORT'] ?? 3_000)
  const operatorPort = Number(values['OPERATOR_PORT'] ?? portNumber + 1)
  if (portNumber === 65_535 && operatorPort > portNumber)
    return ['OPERATOR_PORT is required: PORT + 1 is not a valid port']
  return portNumber === operatorPort && portNumber !== 0 ? ['OPERATOR_PORT must differ from PORT'] : []
}

/** A stop that only waits would end with every request unfinished. */
const stopFaults = (values: Record<string, string | undefined>): string[] =>
  Number(values['DRAIN_SECONDS'] ?? 0) >= Number(values['STOP_SECONDS'] ?? 25)
    ? ['STOP_SECONDS must be more than DRAIN_SECONDS']
    : []

/** Only the signer opens a token, so only the signer requires these. */
const tokenFaults = (values: Record<string, string | undefined>): string[] =>
  values['SIGNER_BACKEND'] === 'pkcs11'
    ? ['PKCS11_MODULE', 'PKCS11_TOKEN_LABEL', 'PKCS11_PIN_FILE']
        .filter((name) => values[name] === undefined)
        .map((name) => `${name} is required where SIGNER_BACKEND is pkcs11`)
    : []

const secretBytesMax = 65_536

/** Reads a secret from its file, without the line feed at its end. No fault shows a byte of the file. */
const readSecret = (name: string, path: string): { readonly value?: string; readonly fault?: string } => {
  try {
    if (statSync(path).size > secretBytesMax)
      return { fault: `${name}_FILE names a file of more than ${secretBytesMax} bytes` }
    const value = readFileSync(path, 'utf8').replace(/\r?\n$/, '')
    return value === '' ? { fault: `${name}_FILE names an empty file` } : { value }
  } catch (error) {
    const reason = error instanceof Error && 'code' in error ? String(error.code) : 'unknown error'
    return { fault: `${name}_FILE names a file that is not readable (${reason})` }
  }
}

/** Fills in the settings of which only the file is named, so that a password is in no environment. */
const readSecretFiles = (environment: NodeJS.ProcessEnv) => {
  const named = secretSettings.flatMap((name) => {
    const path = environment[`${name}_FILE`] ?? ''
    return path === '' ? [] : [{ name, path }]
  })
  const results = named.map(({ name, path }) =>
    (environment[name] ?? '') === ''
      ? { name, ...readSecret(name, path) }
      : { name, fault: `${name} and ${name}_FILE exclude each other` },
  )
  return {
    values: Object.fromEntries(
      results.flatMap((secret) => ('value' in secret ? [[secret.name, secret.value]] : [])),
    ),
    /** By the name of the setting. */
    faults: new Map(
      results.flatMap(({ name, fault }) => (fault === undefined ? [] : [[name as string, fault]])),
    ),
  }
}

/** Without a certificate on both sides, anybody on the network could ask for signatures. */
const signerTlsFaults = (values: Record<string, string | undefined>): string[] =>
  values['SIGNER_LISTEN'] !== undefined || values['SIGNER_URL']?.includes('https:')
    ? ['SIGNER_TLS_CERT', 'SIGNER_TLS_KEY', 'SIGNER_TLS_CA']
        .filter((name) => values[name] === undefined)
        .map((name) => `${name} is required with SIGNER_LISTEN and with https in SIGNER_URL`)
    : []

type SettingsCheck = (values: Record<string, string | undefined>) => string[]
const parseSettings = <T extends z.ZodObject>(
  schema: T,
  environment: NodeJS.ProcessEnv,
  checkCombination: SettingsCheck,
): z.output<T> => {
  const fromFiles = readSecretFiles(environment)
  const variables: NodeJS.ProcessEnv = { ...environment, ...fromFiles.values }
  // An empty variable counts as unset.
  const values = Object.fromEntries(
    Object.keys(schema.shape).map((name) => [name, variables[name] === '' ? undefined : variables[name]]),
  )
  const parsed = schema.safeParse(values)
  const single = (parsed.error?.issues ?? []).flatMap((issue) => {
    const name = String(issue.path[0])
    if (fromFiles.faults.has(name)) return []
    return values[name] === undefined ? `${name} is required` : `${name} ${issue.message}`
  })
  const faults = [...fromFiles.faults.values(), ...single, ...checkCombination(values)]
  if (!parsed.success || faults.length > 0) throw new ConfigFaults(faults)
  return parsed.data
}

/** Reads the settings from environment variables, secrets also from the files that these name, and checks them. */
export const readConfig = (environment: NodeJS.ProcessEnv = process.env): Config =>
  withDefaults(
    parseSettings(settings, environment, (values) => [
      ...portFaults(values),
      ...metricsPortFaults(values),
      ...publicAddressFaults(values),
      ...payToFaults(values),
      ...settlementFaults(values),
      ...cardFaults(values),
      ...stopFaults(values),
      ...signerTlsFaults(values),
    ]),
  )

const observabilityMask = Object.fromEntries(
  Object.keys(observabilitySettings).map((name) => [name, true]),
) as Record<keyof typeof observabilitySettings, true>
const settingsOfSigner = settings.pick({
  DATA_DIR: true,
  KEYS_DIR: true,
  SIGNER_SOCKET: true,
  SIGNER_SOCKET_MODE: true,
  SIGNER_LISTEN: true,
  SIGNER_TLS_CERT: true,
  SIGNER_TLS_KEY: true,
  SIGNER_TLS_CA: true,
  SIGNER_OPERATOR_SOCKET: true,
  ADMISSION_KEY: true,
  CELL: true,
  SIGNER_BACKEND: true,
  PKCS11_MODULE: true,
  PKCS11_TOKEN_LABEL: true,
  PKCS11_PIN_FILE: true,
  LOG_LEVEL: true,
  STOP_SECONDS: true,
  ...observabilityMask,
})

/** Reads the settings of the signer, which needs no database. */
export const readSignerConfig = (environment: NodeJS.ProcessEnv = process.env) => {
  const value = parseSettings(settingsOfSigner, environment, (values) => [
    ...tokenFaults(values),
    ...signerTlsFaults(values),
  ])
  return { ...value, ...signerPaths(value) }
}
export type SignerConfig = ReturnType<typeof readSignerConfig>
