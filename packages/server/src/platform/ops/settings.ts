import { cellTagPattern } from '@pohf/protocol'
import { z } from 'zod'
import { attentionSettings } from '../db/clickhouse-settings.ts'
import { isLoopbackHost } from '../net/loopback.ts'
import { observabilitySettings } from './observability-settings.ts'
import { rootSettings, workSettings } from './root-settings.ts'
import { signerSettings } from './signer-settings.ts'
import {
  canHavePasskeys,
  demoSite,
  evmAddress,
  host,
  integer,
  integerOrUnset,
  path,
  port,
  proxies,
  resolvers,
  splitList,
} from './setting-fields.ts'

/** Circle's own USDC on Ethereum, Optimism, Polygon, Base, Arbitrum and Avalanche. Test networks hold no money. */
const bindingTokens = [
  'usdc:1=0xA0b86991c6218b36c1d19D4a2e9Eb0cE3606eB48',
  'usdc:10=0x0b2C639c533813f4Aa9D7837CAf62653d097Ff85',
  'usdc:137=0x3c499c542cEF5E3811e1192ce70d8cC03d5c3359',
  'usdc:8453=0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913',
  'usdc:42161=0xaf88d065e77c8cC2239327C5EDb3A432268e5831',
  'usdc:43114=0xB97EF9Ef8734C71904D8002F8b6Bc66Dd9c48a6E',
].join(',')

/** One schema for every setting, read once. Only DATABASE_URL is required; every default is safe. */
export const settings = z.object({
  DATABASE_URL: z
    .string()
    .regex(/^postgres(ql)?:\/\/.+/, 'must be a postgres:// address')
    .meta({
      description:
        'Address of the database, PostgreSQL 15 to 18. The login role owns the database and is a member of the roles pohf_app and pohf_mint, or may create them. See operations.md.',
    }),
  PORT: port('Port of the public listener. Default 3000.'),
  HOST: host('Address of the public listener. BASE_URL is required where it is not a loopback address.'),
  BASE_URL: z
    .url({ protocol: /^https?$/ })
    .optional()
    .meta({
      description:
        'Public address of the service. It is the issuer of every credential. Required where HOST or OPERATOR_HOST is not a loopback address. Default: http, HOST and PORT.',
    }),
  OPERATOR_HOST: host(
    'Address of the operators’ listener. Keep it private: /metrics needs no key. BASE_URL is required where it is not a loopback address.',
  ),
  OPERATOR_PORT: port('Port of the operators’ listener. Default: PORT + 1.'),
  OPERATOR_BASE_URL: z
    .string()
    .refine(canHavePasskeys, 'must be https, or http on loopback, with a host name and not an IP address')
    .optional()
    .meta({
      description:
        'Address at which operators open their pages, such as https://operators.pohf.example behind a TLS proxy. They sign in with passkeys at this address only; elsewhere with their key. Give it a host name of its own, because passkeys and cookies belong to a host name and not to a port. Default: http://operators.localhost and OPERATOR_PORT where OPERATOR_HOST is a loopback address; otherwise http, OPERATOR_HOST and OPERATOR_PORT, where passkeys do not work.',
    }),
  DATA_DIR: z.string().min(1).default('.pohf').meta({
    description:
      'Folder of master.key and, by default, of the signer. Back it up. It is made at the first start; its files have mode 0600.',
  }),
  ...signerSettings,
  CELL: z.string().regex(cellTagPattern, 'must be two of a-z0-9').default('aa').meta({
    description:
      'Two characters that every id, key and token carries. Choose it before the first start and never change it.',
  }),
  LOG_LEVEL: z
    .enum(['fatal', 'error', 'warn', 'info', 'debug', 'silent'])
    .default('info')
    .meta({ description: 'Least severe level that is logged.' }),
  DATABASE_POOL_SIZE: integer(
    2,
    100,
    10,
    'Database connections of each process. It has two more, which are reserved for chunks and for the guard after a restore.',
  ),
  DATABASE_WAIT_SECONDS: integer(
    1,
    60,
    5,
    'Seconds that a request waits for a connection or a row lock before it gets 503.',
  ),
  DRAIN_SECONDS: integerOrUnset(
    0,
    300,
    'Seconds between the first 503 of /readyz and the end of accepting, in a stop: time for a load balancer to look. Default: 5, at most half of STOP_SECONDS, or 0 if BASE_URL, HOST, OPERATOR_HOST and OPERATOR_BASE_URL are loopback.',
  ),
  STOP_SECONDS: integer(
    1,
    600,
    25,
    'Seconds that a stop may take in all. What is unfinished then is ended. More than DRAIN_SECONDS.',
  ),
  DATABASE_STATEMENT_SECONDS: integer(
    1,
    600,
    5,
    'Seconds that a statement may take. PostgreSQL then stops it, and one second later its connection is closed. The request gets 503. Maintenance and migrations have limits of their own.',
  ),
  SMTP_URL: z
    .string()
    .regex(/^smtps?:\/\/.+/, 'must be an smtp:// or smtps:// address')
    .optional()
    .meta({
      description: 'Mail server. Without it, mails wait in the outbox, and the start logs a warning.',
    }),
  MAIL_FROM: z
    .string()
    .min(3)
    .max(254)
    .default('PoHF <pohf@localhost>')
    .meta({ description: 'Sender of mails.' }),
  CONTACT: z.string().max(254).default('').meta({ description: 'Contact in the discovery manifest.' }),
  STATUS_WITNESS_URL: z
    .string()
    .default('')
    .transform(splitList)
    .pipe(z.array(z.url({ protocol: /^https?$/ })).max(8))
    .meta({
      description:
        'Addresses at which the status lists are published too, such as a CDN or the api of another machine, with commas between them. At its start the api compares the head of the journal in these copies with its signers, so that a snapshot which takes database and journal back together is noticed. See restore.md.',
    }),
  TRUSTED_PROXIES: proxies(
    'Addresses or CIDR ranges of proxies, comma-separated. X-Forwarded-For is trusted only from them. Together they must hold at most a sixteenth of the internet.',
  ),
  ADDRESS_LIMITS: z.enum(['auto', 'on', 'off']).default('auto').meta({
    description:
      'Rate limits by client address, and the budget of calls without a key. auto: off if BASE_URL, HOST, OPERATOR_HOST and OPERATOR_BASE_URL are loopback, else on.',
  }),
  ...rootSettings,
  ...observabilitySettings,
  ...attentionSettings,
  KEY_LIMIT_PER_MINUTE: integer(
    1,
    10_000_000,
    6_000,
    'Requests per minute of one agent, counted by each api process.',
  ),
  FORWARD_CAPACITY_HOURS_PER_MONTH: integer(
    0,
    10_000_000,
    0,
    'Verified human hours per month against which a forward order is assessed. 0: the settled hours of an average month of the last three.',
  ),
  TELEMETRY_KEEP_DAYS: integer(
    1,
    3_650,
    30,
    'Days that recordings are kept. Their hashes are kept without limit.',
  ),
  SESSION_KEEP_DAYS: integer(
    1,
    3_650,
    90,
    'Days that sessions are kept that have neither a credential nor a member. Afterwards they cannot be verified, and metrics do not count them.',
  ),
  CALIBRATIONS_FILE: z.string().max(4_096).default('').meta({
    description:
      'File that `pohf calibrate` wrote. Without it, pointer motion can raise the quality of a session and never lowers it.',
  }),
  FORGING_FILE: z.string().max(4_096).default('').meta({
    description:
      'Price table that `npm run arena -- --price` wrote, for a deployment with budgets of its own. Without it, the table of this version is served. A table is valid for 90 days from its date; afterwards every policy that asks for a forging class refuses.',
  }),
  DEMO_DATA: z.enum(['true', 'false']).default('false').meta({
    description: 'Marks the console: its data is not real. `npm run dev -- --demo` sets it.',
  }),
  DEMO_SITE: demoSite(
    'The agent whose check visitors can try on the landing page. `platform` is the test agent of the service itself, whose sessions no API key can read. Without it, the page says how to try the check elsewhere.',
  ),
  BRANDING_FILE: path(
    'JSON file with the name, colours and texts of the landing page, pricing, status and error pages. Read at the start; a wrong file refuses it. See operate/branding.md.',
  ),
  ISSUERS_FILE: z.string().max(4_096).default('').meta({
    description:
      'JSON file with the outside issuers that vouch for people or count them, such as the sign-in of a company. Read at the start; a wrong file refuses it. See operate/issuers.md.',
  }),
  DNS_RESOLVERS: resolvers(
    'Addresses of the DNS resolvers that look for the record of a company, comma-separated, each with an optional port. Name resolvers that check DNSSEC. Without it, those of the machine.',
  ),
  PROOF_TOMBSTONE_DAYS: integer(
    0,
    3_650,
    365,
    'Days for which a keyed hash of the code of a person who erased everything is kept, so that the same human is not counted a second time. At least the life of the proof. 0: none is kept, and a price of people must be divided by the persons that one human can be in a year.',
  ),
  REGISTER_LIMIT_PER_HOUR: integer(
    1,
    10_000_000,
    30,
    'Registrations per hour from one IPv4 address or IPv6 /64. An IPv4 /24 or IPv6 /48 has four times as many.',
  ),
  FREE_PLANS_PER_MAIL_DOMAIN: integer(
    0,
    1_000,
    3,
    'How many agents of one registrable mail domain can hold the free plan; at public mail providers, of one mailbox.',
  ),
  FREE_PLANS_PER_NETWORK: integer(
    0,
    1_000,
    3,
    'How many agents registered from one IPv4 address or IPv6 /64 can hold the free plan. Not applied where the limits by address are off.',
  ),
  FREE_PLANS_PER_WIDE_NETWORK: integer(
    0,
    10_000,
    10,
    'How many agents registered from one IPv4 /24 or IPv6 /48 can hold the free plan. Not applied where the limits by address are off.',
  ),
  FREE_PLANS_PER_MONTH: integer(
    0,
    1_000_000,
    1_000,
    'How many agents can newly get the free plan in a calendar month (UTC), in the whole deployment.',
  ),
  MAILS_PER_RECIPIENT_PER_DAY: integer(
    1,
    1_000,
    10,
    'Mails of one kind (confirmation, recovery, notice) to one mailbox in a day (UTC), whichever agents cause them.',
  ),
  BINDINGS_PER_MONTH: integer(
    0,
    1_000_000_000,
    1_000,
    'How many live bindings an agent can make in a calendar month (UTC). A binding costs no credit.',
  ),
  ATTEST_ROOTS_FILE: path(
    'Root certificates (PEM) for device attestation, instead of those of Apple and FIDO that are shipped. Devices under them count as software unless ATTEST_ALLOW_CUSTOM_ROOTS is on.',
  ),
  ATTEST_ALLOW_CUSTOM_ROOTS: z
    .enum(['on', 'off'])
    .default('off')
    .meta({ description: 'Whether devices under the roots of ATTEST_ROOTS_FILE count as hardware.' }),
  ATTEST_FIDO_METADATA_FILE: path(
    'FIDO metadata file (MDS3). Without it, every security key counts as software.',
  ),
  ATTEST_PLAY_KEYS_FILE: path(
    'JSON file with the Play Integrity keys of each Android package, base64: {"com.example": {"decryptionKey": …, "verificationKey": …}}.',
  ),
  PAYOUT_APPROVAL: z
    .enum(['on', 'off'])
    .default('off')
    .meta({ description: 'Whether operators can approve payouts. Users can request payouts in both cases.' }),
  ...workSettings,
  STRIPE_SECRET_KEY: z
    .string()
    .regex(/^(sk|rk)_(test|live)_[A-Za-z0-9_]{8,240}$/, 'must be a secret or restricted key of Stripe')
    .optional()
    .meta({
      description:
        'Secret or restricted key of Stripe. Without it, card payments are off. Requires STRIPE_WEBHOOK_SECRET.',
    }),
  STRIPE_WEBHOOK_SECRET: z
    .string()
    .regex(/^whsec_[A-Za-z0-9+/=_-]{8,240}$/, 'must be a signing secret, whsec_…')
    .optional()
    .meta({
      description:
        'Signing secret of the Stripe webhook endpoint /api/payments/card/webhook. See operations.md.',
    }),
  STRIPE_API_BASE: z
    .url({ protocol: /^https?$/ })
    .refine(
      (url) => url.startsWith('https:') || isLoopbackHost(new URL(url).hostname),
      'must be https, or http on loopback',
    )
    .default('https://api.stripe.com')
    .meta({ description: 'Base URL of the card provider’s API; https, or http on loopback.' }),
  X402_NETWORK: z.enum(['base-sepolia', 'base']).default('base-sepolia').meta({
    description:
      'Chain on which purchases are paid. On base-sepolia only test units are sold, on base only live ones.',
  }),
  X402_CHAIN_RPC: z
    .url({ protocol: /^https?$/ })
    .optional()
    .meta({
      description:
        'JSON-RPC address of that chain. Purchases settle only with X402_GAS_KEYS_FILE or X402_FACILITATOR_URL; without one of them, a valid payment gets 503.',
    }),
  X402_GAS_KEYS_FILE: path(
    'File with the private keys of the gas accounts, one per line (mode 0600). Excludes X402_FACILITATOR_URL. See operations.md.',
  ),
  X402_FACILITATOR_URL: z
    .url({ protocol: /^https?$/ })
    .optional()
    .meta({
      description:
        'Address of an x402 facilitator that submits payments and pays the gas. Its answers are checked on the chain.',
    }),
  X402_MAX_FEE_GWEI: integer(
    1,
    100_000,
    50,
    'Maximum price of a unit of gas in gwei. While gas costs more, settlements wait.',
  ),
  X402_CONTRACT_GAS_PER_DAY: integer(
    0,
    1_000_000_000,
    5_000_000,
    'Gas that failed payments of contract wallets may cost in 24 hours. A pending payment counts with its gas limit. When it is used up, contract wallets get 503 and other wallets go on. 0 refuses contract wallets.',
  ),
  X402_PAY_TO: evmAddress(
    'Address that receives payments. Required on base and wherever X402_CHAIN_RPC is set. Default on base-sepolia: 0x…dEaD, which nobody can spend from.',
  ),
  EVM_RPC_URLS: z
    .string()
    .default('')
    .transform(splitList)
    .pipe(
      z
        .array(
          z
            .string()
            .regex(
              /^[1-9][0-9]{0,9}=https?:\/\/\S{1,500}$/,
              'must be chain id = address, such as 8453=https://…',
            )
            .refine((item) => URL.canParse(item.slice(item.indexOf('=') + 1)), 'must hold addresses'),
        )
        .max(64),
    )
    .meta({
      description:
        'JSON-RPC addresses by chain id, such as 1=https://…,8453=https://…. They are used to check contract wallets (EIP-1271) and bound payments. Without the address of a chain, contract wallets of that chain cannot be bound and bindings of its payments are `asserted`.',
    }),
  ONCHAIN_MIN_ASSURANCE: z.enum(['substantial', 'high']).default('high').meta({
    description:
      'The assurance that a live on-chain token needs. substantial: an attested device that answered in the act suffices. Below it the credential has the wallet and no token.',
  }),
  ONCHAIN_REGISTRIES: z
    .string()
    .default('')
    .transform(splitList)
    .pipe(
      z
        .array(
          z
            .string()
            .regex(
              /^[1-9][0-9]{0,14}=0x[0-9a-fA-F]{40}$/,
              'must be chain id = address of a contract, such as 8453=0x…',
            ),
        )
        .max(64)
        .refine((list) => new Set(list.map((item) => item.split('=')[0])).size === list.length, {
          message: 'must name each chain once',
        }),
    )
    .meta({
      description:
        'HumanRegistry contracts by chain id, such as 8453=0x…. A token for chains names one of them and counts in no other. Without the registry of a chain, a live credential with a wallet comes without such a token.',
    }),
  BINDING_TOKENS: z
    .string()
    .default(bindingTokens)
    .transform(splitList)
    .pipe(
      z
        .array(
          z
            .string()
            .regex(
              /^[a-z0-9]{2,12}:[1-9][0-9]{0,14}=0x[0-9a-fA-F]{40}(\/([0-9]|[12][0-9]|3[0-6]))?$/,
              'must be symbol, chain id and address, such as usdc:8453=0x…, with /18 where it has not 6 decimals',
            ),
        )
        .max(256),
    )
    .meta({
      description:
        'Tokens that count as payment in a bound transaction: symbol:chain=address, with /decimals where they are not 6. Default: USDC on six main networks. Each chain also needs an address in EVM_RPC_URLS.',
    }),
  BINDING_CONFIRMATIONS: integer(
    1,
    100_000,
    12,
    'Confirmations that a transaction needs before a binding is `verified`; its own block counts as one.',
  ),
  X402_ASSET: evmAddress(
    'Address of the EIP-3009 token that is accepted; it has 6 decimals. Default: USDC of the network.',
  ),
  X402_ASSET_NAME: z
    .string()
    .min(1)
    .max(64)
    .optional()
    .meta({ description: 'EIP-712 domain name of that token. Default: that of USDC on the network.' }),
  X402_ASSET_VERSION: z
    .string()
    .min(1)
    .max(16)
    .default('2')
    .meta({ description: 'EIP-712 domain version of that token.' }),
})
