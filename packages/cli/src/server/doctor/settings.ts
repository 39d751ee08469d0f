import { accessSync, constants, statSync } from 'node:fs'
import type { Config } from '@pohf/server/doctor'
import { messageOf } from '../../command/errors.ts'
import { ok, problem, warning, type Finding } from './finding.ts'

const checkAddress = (config: Config): Finding => {
  const { BASE_URL: url, loopback, TRUSTED_PROXIES: proxies } = config
  if (loopback && proxies.length > 0)
    return problem(
      'address',
      `TRUSTED_PROXIES is set, so others reach this service, but ${url} is a loopback address: limits by address are off and webhooks may go to this machine`,
      'Set BASE_URL to the public address, such as https://pohf.example, or unset TRUSTED_PROXIES',
    )
  if (loopback) return ok('address', `${url}, for this machine only`)
  if (url.startsWith('http:'))
    return problem(
      'address',
      `${url} is plain http: API keys and credentials are readable on the network`,
      'Put a proxy with TLS in front and set BASE_URL to its https address',
    )
  return proxies.length === 0
    ? problem(
        'address',
        'no proxy is trusted: all clients behind the TLS proxy count as one address',
        'Set TRUSTED_PROXIES to the addresses of your proxies',
      )
    : ok('address', `${url} behind ${proxies.length} trusted proxies`)
}

const checkLimits = ({ loopback, addressLimits, rootBudgets }: Config): Finding => {
  if (loopback || (addressLimits && rootBudgets)) return ok('limits', 'as for this address')
  return problem(
    'limits',
    `${addressLimits ? 'ROOT_BUDGETS' : 'ADDRESS_LIMITS'} is off on a public address: bots can mint and register without a limit`,
    `Unset ${addressLimits ? 'ROOT_BUDGETS' : 'ADDRESS_LIMITS'}`,
  )
}

const checkCard = ({ STRIPE_SECRET_KEY: key, STRIPE_API_BASE: base, loopback }: Config): Finding => {
  if (key === undefined)
    return warning(
      'card',
      'card payments are off',
      'Set STRIPE_SECRET_KEY and STRIPE_WEBHOOK_SECRET to sell credits',
    )
  return !loopback && !/^[sr]k_live_/.test(key)
    ? problem(
        'card',
        'STRIPE_SECRET_KEY is a test key: credits are posted and no card is charged',
        'Set the live key of the card provider, and the secret of its live webhook endpoint',
      )
    : ok('card', `a card provider is configured at ${base}`)
}

const checkSettlement = (config: Config): Finding[] => {
  if (config.X402_CHAIN_RPC === undefined) return []
  return config.X402_GAS_KEYS_FILE === undefined && config.X402_FACILITATOR_URL === undefined
    ? [
        problem(
          'settlement',
          'no gas account is configured: payments with a wallet are answered 503',
          'Set X402_GAS_KEYS_FILE or X402_FACILITATOR_URL',
        ),
      ]
    : [ok('settlement', 'payments with a wallet can be submitted')]
}

const fileSettings = [
  'CALIBRATIONS_FILE',
  'FORGING_FILE',
  'NETWORKS_FILE',
  'ATTEST_ROOTS_FILE',
  'ATTEST_FIDO_METADATA_FILE',
  'ATTEST_PLAY_KEYS_FILE',
  'X402_GAS_KEYS_FILE',
  'SIGNER_TLS_CERT',
  'SIGNER_TLS_KEY',
  'SIGNER_TLS_CA',
] as const satisfies readonly (keyof Config)[]
/** Files with private keys. */
const secretFiles: ReadonlySet<string> = new Set(['X402_GAS_KEYS_FILE', 'SIGNER_TLS_KEY'])

const checkFiles = (config: Config): Finding[] => {
  const named = fileSettings.flatMap((name) => (config[name] ? [{ name, path: config[name] }] : []))
  const faults = named.flatMap(({ name, path }): Finding[] => {
    try {
      accessSync(path, constants.R_OK)
    } catch (error) {
      return [
        problem('files', `${name}: ${messageOf(error)}`, `Set ${name} to a file that this user can read`),
      ]
    }
    return secretFiles.has(name) && (statSync(path).mode & 0o077) !== 0
      ? [problem('files', `${name}: other users can read ${path}`, `Run chmod 600 ${path}`)]
      : []
  })
  return faults.length > 0 || named.length === 0
    ? faults
    : [ok('files', `${named.length} files of the settings are readable`)]
}

/** What can be seen from the settings alone. */
export const checkSettings = (config: Config): Finding[] => [
  checkAddress(config),
  checkLimits(config),
  checkCard(config),
  ...checkSettlement(config),
  ...checkFiles(config),
]
