import { z } from 'zod'
import { secretSettings } from '../../../packages/server/src/platform/ops/secret-settings.ts'
import { settings } from '../../../packages/server/src/platform/ops/settings.ts'
import { generatedNote, tableOf, type GeneratedFile } from './markdown.ts'

type SettingName = keyof typeof settings.shape
type SettingSchema = (typeof settings.shape)[SettingName]

/** Every setting in one group; a setting in no group stops the generator. */
const groups: Readonly<Record<string, readonly SettingName[]>> = {
  'Addresses and folders': [
    'BASE_URL',
    'HOST',
    'PORT',
    'OPERATOR_HOST',
    'OPERATOR_PORT',
    'OPERATOR_BASE_URL',
    'TRUSTED_PROXIES',
    'STATUS_WITNESS_URL',
    'DATA_DIR',
    'CELL',
    'LOG_LEVEL',
    'CONTACT',
    'DEMO_DATA',
  ],
  Website: ['DEMO_SITE', 'BRANDING_FILE'],
  Database: ['DATABASE_URL', 'DATABASE_POOL_SIZE', 'DATABASE_WAIT_SECONDS', 'DATABASE_STATEMENT_SECONDS'],
  Stop: ['DRAIN_SECONDS', 'STOP_SECONDS'],
  Mail: ['SMTP_URL', 'MAIL_FROM'],
  'Metrics and traces': [
    'METRICS_HOST',
    'METRICS_PORT',
    'OTEL_EXPORTER_OTLP_ENDPOINT',
    'OTEL_EXPORTER_OTLP_TRACES_ENDPOINT',
    'OTEL_SDK_DISABLED',
    'OTEL_SERVICE_NAME',
    'OTEL_TRACES_SAMPLER',
    'OTEL_TRACES_SAMPLER_ARG',
  ],
  Signer: [
    'KEYS_DIR',
    'SIGNER_SOCKET',
    'SIGNER_SOCKET_MODE',
    'SIGNER_URL',
    'SIGNER_LISTEN',
    'SIGNER_TLS_CERT',
    'SIGNER_TLS_KEY',
    'SIGNER_TLS_CA',
    'SIGNER_OPERATOR_SOCKET',
    'ADMISSION_KEY',
    'SIGNER_BACKEND',
    'PKCS11_MODULE',
    'PKCS11_TOKEN_LABEL',
    'PKCS11_PIN_FILE',
  ],
  Limits: [
    'ADDRESS_LIMITS',
    'KEY_LIMIT_PER_MINUTE',
    'REGISTER_LIMIT_PER_HOUR',
    'FREE_PLANS_PER_MAIL_DOMAIN',
    'FREE_PLANS_PER_NETWORK',
    'BINDINGS_PER_MONTH',
    'FREE_PLANS_PER_WIDE_NETWORK',
    'FREE_PLANS_PER_MONTH',
    'MAILS_PER_RECIPIENT_PER_DAY',
  ],
  'Budgets of live credentials': [
    'ROOT_BUDGETS',
    'ROOT_ADDRESS_PER_HOUR',
    'ROOT_ADDRESS_PER_DAY',
    'ROOT_NETWORK_PER_HOUR',
    'ROOT_NETWORK_PER_DAY',
    'ROOT_DEVICE_PER_DAY',
    'ROOT_ACCOUNT_PER_DAY',
    'NETWORKS_FILE',
  ],
  'Beacons and conversions': ['BEACONS_PER_MINUTE', 'CLICKHOUSE_URL', 'CLICKHOUSE_SPOOL_ENTRIES'],
  Evidence: [
    'TELEMETRY_KEEP_DAYS',
    'SESSION_KEEP_DAYS',
    'CALIBRATIONS_FILE',
    'FORGING_FILE',
    'ATTEST_ROOTS_FILE',
    'ATTEST_ALLOW_CUSTOM_ROOTS',
    'ATTEST_FIDO_METADATA_FILE',
    'ATTEST_PLAY_KEYS_FILE',
  ],
  'Outside issuers': ['ISSUERS_FILE', 'DNS_RESOLVERS', 'PROOF_TOMBSTONE_DAYS'],
  'Card payments': ['STRIPE_SECRET_KEY', 'STRIPE_WEBHOOK_SECRET', 'STRIPE_API_BASE'],
  'Payments and wallets on a chain': [
    'X402_NETWORK',
    'X402_CHAIN_RPC',
    'X402_PAY_TO',
    'X402_GAS_KEYS_FILE',
    'X402_FACILITATOR_URL',
    'X402_MAX_FEE_GWEI',
    'X402_CONTRACT_GAS_PER_DAY',
    'X402_ASSET',
    'X402_ASSET_NAME',
    'X402_ASSET_VERSION',
    'EVM_RPC_URLS',
    'ONCHAIN_MIN_ASSURANCE',
    'ONCHAIN_REGISTRIES',
    'BINDING_TOKENS',
    'BINDING_CONFIRMATIONS',
  ],
  'Work, payouts and the index': [
    'PAYOUT_APPROVAL',
    'ORDER_REVIEWS',
    'REFERENCE_USD_PER_HOUR',
    'FORWARD_CAPACITY_HOURS_PER_MONTH',
  ],
}

const defaultOf = (schema: SettingSchema): string => {
  const fallback = schema.safeParse(undefined)
  if (!fallback.success) return '**required**'
  const { data } = fallback
  const isEmpty = data === undefined || data === '' || (Array.isArray(data) && data.length === 0)
  return isEmpty ? '' : `\`${String(data)}\``
}

/** The allowed words of an enumeration, or the range of a number. */
const valuesOf = (schema: SettingSchema): string => {
  const json = z.toJSONSchema(schema, { io: 'output', unrepresentable: 'any' })
  if (json.enum) return json.enum.map((value) => `\`${String(value)}\``).join(', ')
  return json.type === 'integer' ? `${json.minimum} to ${json.maximum}` : ''
}

const secretNames = secretSettings.map((name) => `\`${name}\``).join(', ')

const settingsPage = (): string => {
  const grouped = Object.values(groups).flat()
  const missing = Object.keys(settings.shape).filter(
    (name) => grouped.filter((other) => other === name).length !== 1,
  )
  if (missing.length > 0) throw new Error(`settings that are not in exactly one group: ${missing.join(', ')}`)
  const sections = Object.entries(groups).map(([group, names]) => {
    const rows = names.map((name) => {
      const schema = settings.shape[name]
      const { description = '' } = z.globalRegistry.get(schema) ?? {}
      return [`\`${name}\``, defaultOf(schema), valuesOf(schema), description]
    })
    return `## ${group}\n\n${tableOf(['Name', 'Default', 'Values', 'Meaning'], rows)}`
  })
  return `${generatedNote}

# Settings

Settings are environment variables. The service reads them once at start; an empty variable counts as unset. A start with
wrong settings stops before it opens the database and lists every fault. Only \`DATABASE_URL\` is required.

A secret can be read from a file instead: \`NAME_FILE\` is the path of the file with the value of \`NAME\`, at most 64 KiB; a line
feed at its end is removed. This works for ${secretNames}. To set both is a fault.

${sections.join('\n\n')}
`
}

export const settingFiles = (): GeneratedFile[] => [['docs/reference/settings.md', settingsPage()]]
