import type { settings } from './settings.ts'

/** Settings that hold a password or a key. Each can be read from a file instead, which `NAME_FILE` names. */
export const secretSettings = [
  'DATABASE_URL',
  'CLICKHOUSE_URL',
  'SMTP_URL',
  'STRIPE_SECRET_KEY',
  'STRIPE_WEBHOOK_SECRET',
  'X402_CHAIN_RPC',
  'X402_FACILITATOR_URL',
  'EVM_RPC_URLS',
] as const satisfies readonly (keyof typeof settings.shape)[]
