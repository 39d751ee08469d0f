import { cellTagPattern } from '@pohf/protocol'
import { z } from 'zod'
import { isLoopbackHost } from '../net/loopback.ts'

const port = (description: string) =>
  z
    .string()
    .regex(/^\d{1,5}$/, 'must be a port number')
    .transform(Number)
    .pipe(z.int().min(0).max(65_535))
    .optional()
    .meta({ description })

const integer = (min: number, max: number, fallback: number, description: string) =>
  z
    .string()
    .regex(/^\d{1,12}$/, 'must be a whole number')
    .transform(Number)
    .pipe(z.int().min(min).max(max))
    .default(fallback)
    .meta({ description })

const evmAddress = (description: string) =>
  z
    .string()
    .regex(/^0x[0-9a-fA-F]{40}$/, 'must be an EVM address')
    .optional()
    .meta({ description })

/** The host part of a URL: IPv6 in brackets. */
export const bracketIpv6 = (name: string) => (name.includes(':') ? `[${name}]` : name)

const host = (description: string) =>
  z
    .string()
    .refine(
      (name) => /^[0-9A-Za-z.:_-]+$/.test(name) && URL.canParse(`http://${bracketIpv6(name)}`),
      'must be a host name or address',
    )
    .default('127.0.0.1')
    .meta({ description })

const path = (description: string) => z.string().min(1).max(4_096).optional().meta({ description })

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
      description: 'PostgreSQL 15 to 18. The role must own the database and may create the role pohf_app.',
    }),
  PORT: port('Port of the public listener. Default 3000.'),
  HOST: host('Address of the public listener.'),
  BASE_URL: z
    .url({ protocol: /^https?$/ })
    .optional()
    .meta({
      description:
        'The address that clients see. It is the issuer of every credential. Default: from HOST and PORT.',
    }),
  OPERATOR_HOST: host('Address of the operators’ listener.'),
  OPERATOR_PORT: port('Port of the operators’ listener. Default: PORT + 1.'),
  DATA_DIR: z
    .string()
    .min(1)
    .default('.pohf')
    .meta({ description: 'Folder for secrets made at the first start (mode 0600).' }),
  KEYS_DIR: z
    .string()
    .min(1)
    .optional()
    .meta({ description: 'Folder of the signer: keys, key states, journal. Default: keys in DATA_DIR.' }),
  SIGNER_SOCKET: z
    .string()
    .min(1)
    .max(100)
    .optional()
    .meta({ description: 'Unix socket between the api and the signer. Default: signer.sock in DATA_DIR.' }),
  SIGNER_SOCKET_MODE: z.enum(['0600', '0660']).default('0600').meta({
    description:
      'Who may open that socket: 0600 only the signer’s user, 0660 its group as well. See operations.md.',
  }),
  SIGNER_BACKEND: z
    .enum(['file', 'pkcs11'])
    .default('file')
    .meta({ description: 'Where new keys are made: files in KEYS_DIR, or a PKCS#11 token.' }),
  PKCS11_MODULE: z
    .string()
    .min(1)
    .optional()
    .meta({ description: 'The token’s library, such as /usr/lib/softhsm/libsofthsm2.so.' }),
  PKCS11_TOKEN_LABEL: z.string().min(1).max(32).optional().meta({ description: 'Label of the token.' }),
  PKCS11_PIN_FILE: z
    .string()
    .min(1)
    .optional()
    .meta({ description: 'File that holds the token’s user PIN; only the signer reads it.' }),
  CELL: z
    .string()
    .regex(cellTagPattern, 'must be two of a-z0-9')
    .default('aa')
    .meta({ description: 'Cell tag in every id and key. Never change it.' }),
  LOG_LEVEL: z
    .enum(['fatal', 'error', 'warn', 'info', 'debug', 'silent'])
    .default('info')
    .meta({ description: 'How much is logged.' }),
  DATABASE_POOL_SIZE: integer(2, 100, 10, 'Connections per process.'),
  DATABASE_WAIT_SECONDS: integer(
    1,
    60,
    5,
    'How long a request waits for a connection or a row before it is answered 503.',
  ),
  SMTP_URL: z
    .string()
    .regex(/^smtps?:\/\/.+/, 'must be an smtp:// or smtps:// address')
    .optional()
    .meta({ description: 'Mail server. Without it mails wait in the outbox and the start says so.' }),
  MAIL_FROM: z
    .string()
    .min(3)
    .max(254)
    .default('PoHF <pohf@localhost>')
    .meta({ description: 'Sender of mails.' }),
  CONTACT: z.string().max(254).default('').meta({ description: 'Contact shown in the discovery manifest.' }),
  TRUSTED_PROXIES: z
    .string()
    .default('')
    .transform((list) =>
      list
        .split(',')
        .map((item) => item.trim())
        .filter((item) => item !== ''),
    )
    .pipe(
      z
        .array(z.union([z.ipv4(), z.ipv6(), z.cidrv4(), z.cidrv6()], 'must be addresses or CIDR ranges'))
        .max(64),
    )
    .meta({ description: 'Proxies whose X-Forwarded-For is believed, comma separated. Nobody by default.' }),
  ADDRESS_LIMITS: z
    .enum(['auto', 'on', 'off'])
    .default('auto')
    .meta({ description: 'Rate limits per client address. auto: off only where BASE_URL is loopback.' }),
  KEY_LIMIT_PER_MINUTE: integer(1, 10_000_000, 6_000, 'Requests per minute of one agent.'),
  FORWARD_CAPACITY_HOURS_PER_MONTH: integer(
    0,
    10_000_000,
    160,
    'Verified human hours a month that forward orders are judged against.',
  ),
  TELEMETRY_KEEP_DAYS: integer(
    1,
    3_650,
    30,
    'Days that recorded sessions are kept. Their hashes stay for ever.',
  ),
  CALIBRATIONS_FILE: z.string().max(4_096).default('').meta({
    description:
      'What `pohf calibrate` wrote. Without it motion that looks drawn is noted and held against nobody.',
  }),
  REGISTER_LIMIT_PER_HOUR: integer(1, 10_000_000, 120, 'Registrations per hour of one address.'),
  FREE_PLANS_PER_MAIL_DOMAIN: integer(
    0,
    1_000,
    3,
    'Agents of one mail domain that hold the free plan; for public mail providers, of one mailbox.',
  ),
  FREE_PLANS_PER_NETWORK: integer(
    0,
    1_000,
    3,
    'Agents registered from one network that hold the free plan. Off where the limits per address are off.',
  ),
  ATTEST_ROOTS_FILE: path(
    'Certificates (PEM) to trust about devices instead of the shipped ones of Apple and FIDO. They make nothing better than software unless ATTEST_ALLOW_CUSTOM_ROOTS is on.',
  ),
  ATTEST_ALLOW_CUSTOM_ROOTS: z
    .enum(['on', 'off'])
    .default('off')
    .meta({ description: 'Whether what ATTEST_ROOTS_FILE vouches for counts in full.' }),
  ATTEST_FIDO_METADATA_FILE: path(
    'The FIDO metadata (MDS3) as downloaded. Without it no security key is better than software.',
  ),
  ATTEST_PLAY_KEYS_FILE: path(
    'JSON: for each Android package the keys that open its Play Integrity tokens, {"com.example": {"decryptionKey": …, "verificationKey": …}}, base64.',
  ),
  PAYOUT_APPROVAL: z
    .enum(['on', 'off'])
    .default('off')
    .meta({ description: 'Whether operators may approve payouts. Requests are taken in either way.' }),
  REFERENCE_USD_PER_HOUR: integer(
    1,
    10_000,
    30,
    'Price of a human hour that offers are made by until the VHH index has a value.',
  ),
  STRIPE_SECRET_KEY: z
    .string()
    .regex(/^(sk|rk)_(test|live)_[A-Za-z0-9_]{8,240}$/, 'must be a secret or restricted key of Stripe')
    .optional()
    .meta({ description: 'Key of the card provider. Without it nothing can be paid by card.' }),
  STRIPE_WEBHOOK_SECRET: z
    .string()
    .regex(/^whsec_[A-Za-z0-9+/=_-]{8,240}$/, 'must be a signing secret, whsec_…')
    .optional()
    .meta({
      description: 'Signs the card provider’s messages to /api/payments/card/webhook. See operations.md.',
    }),
  STRIPE_API_BASE: z
    .url({ protocol: /^https?$/ })
    .refine(
      (url) => url.startsWith('https:') || isLoopbackHost(new URL(url).hostname),
      'must be https, or http on loopback',
    )
    .default('https://api.stripe.com')
    .meta({ description: 'Where the card provider’s API is.' }),
  X402_NETWORK: z.enum(['base-sepolia', 'base']).default('base-sepolia').meta({
    description:
      'Chain that purchases are paid on. A test network sells only test work, a main network never does.',
  }),
  X402_CHAIN_RPC: z
    .url({ protocol: /^https?$/ })
    .optional()
    .meta({
      description:
        'JSON-RPC address of that chain. With X402_GAS_KEYS_FILE or X402_FACILITATOR_URL purchases settle; else a good payment is answered 503.',
    }),
  X402_GAS_KEYS_FILE: path(
    'File with private keys of accounts that pay the gas of settlements, one a line (mode 0600). See operations.md.',
  ),
  X402_FACILITATOR_URL: z
    .url({ protocol: /^https?$/ })
    .optional()
    .meta({
      description:
        'An x402 facilitator that submits payments and pays the gas instead. What it says is checked on the chain.',
    }),
  X402_MAX_FEE_GWEI: integer(1, 100_000, 50, 'The most that a unit of gas may cost, in gwei.'),
  X402_PAY_TO: evmAddress('Who is paid. Default on base-sepolia: 0x…dEaD, which nobody can spend from.'),
  EVM_RPC_URLS: z
    .string()
    .default('')
    .transform((list) =>
      list
        .split(',')
        .map((item) => item.trim())
        .filter((item) => item !== ''),
    )
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
        'JSON-RPC addresses by chain id, such as 1=https://…,8453=https://…. They are asked about wallets that are contracts (EIP-1271) and about payments that are bound. Without one such wallets cannot be bound, and such payments are what the agent says.',
    }),
  BINDING_TOKENS: z
    .string()
    .default(bindingTokens)
    .transform((list) =>
      list
        .split(',')
        .map((item) => item.trim())
        .filter((item) => item !== ''),
    )
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
        'Tokens that count as money where a transaction is bound: symbol:chain=address, with /decimals where they are not 6. Default: USDC on six main networks. Each chain also needs its address in EVM_RPC_URLS.',
    }),
  BINDING_CONFIRMATIONS: integer(
    1,
    100_000,
    12,
    'Blocks that must have a transaction, its own included, before a binding says verified.',
  ),
  X402_ASSET: evmAddress('EIP-3009 token of 6 decimals that is taken. Default: USDC of the network.'),
  X402_ASSET_NAME: z
    .string()
    .min(1)
    .max(64)
    .optional()
    .meta({ description: 'EIP-712 domain name of the token. Default: that of USDC on the network.' }),
  X402_ASSET_VERSION: z
    .string()
    .min(1)
    .max(16)
    .default('2')
    .meta({ description: 'EIP-712 domain version of the token.' }),
})
