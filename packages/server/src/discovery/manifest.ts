import {
  credentialKinds,
  endpoints,
  freePlanCondition,
  freeSealsPerMonth,
  rails,
  type Mode,
} from '@pohf/protocol'
import { sentence } from '@pohf/protocol/story'
import type { ResultOf } from '../platform/http/call.ts'
import type { Ctx } from '../platform/ops/context.ts'

/** Which payments are configured; passed in by the wiring. */
export type PaymentOptions = {
  /** CAIP-2 names of the chains that purchases settle on; empty where none is configured. */
  readonly chains: readonly string[]
  /** The address of the token that purchases are paid in, where a chain is configured. */
  readonly asset?: string
  /** The mode whose questions wallets pay, where a chain is configured: test money never pays live work. */
  readonly walletMode?: Mode
  /** Whether a card checkout is configured. */
  readonly card: boolean
  /** Undefined while the database is unavailable. */
  readonly countPurchasable: () => Promise<number | undefined>
}

const capabilities: readonly string[] = [
  'credentials for work, views and presence of a human',
  'personhood credentials, with a wallet on request',
  'credentials that bind a human to a payment',
  'device attestation',
  'evidence of physical presence',
  'verified attention and conversions',
  'embeddable micro-tasks',
  'commissioned human work with escrow',
  'autonomous purchase of human work over HTTP 402',
  'conversion of partner points and payout requests',
  'the VHH reference rate',
  'prepaid verified-human-hours',
  'webhooks',
  'API keys at once, live or test',
]

const flows: readonly { name: string; steps: (baseUrl: string) => readonly string[] }[] = [
  {
    name: 'get_a_key',
    steps: (url) => [`POST ${url}/api/agents/register {"name", "contactEmail", "mode": "test" or "live"}`],
  },
  {
    name: 'verify_a_human',
    steps: (url) => [
      `POST ${url}/api/agents/verify {"sessionId"} with the key`,
      `Check pohf_jwt against ${url}/.well-known/jwks.json`,
    ],
  },
  {
    name: 'agent_native',
    steps: (url) => [
      `GET ${url}/api/agent/tasks/{workflowId}/buy answers 402 with accepts[] and purchase_id`,
      'Sign an EIP-3009 authorization for one entry; do not transfer on-chain yourself',
      'Call again with the headers X-PAYMENT and X-Purchase-Id; the answer is the credential',
    ],
  },
  {
    name: 'human_in_the_loop',
    steps: (url) => [
      `POST ${url}/api/agents/order {"taskType", "quantity", "maxPriceUsd"} with the key`,
      `POST ${url}/api/agents/order/fund {"orderId"} answers the checkout that a person completes`,
    ],
  },
  {
    name: 'machine_tools',
    steps: (url) => [
      `POST ${url}/api/mcp with the tool purchase_verified_human_task: discovery, purchase and receipt`,
      `POST ${url}/mcp/identity with the tools register_agent and verify_human`,
    ],
  },
  {
    name: 'binding_only',
    steps: (url) => [
      'Pay on your rail',
      `POST ${url}/api/agents/bind-transaction {"paymentRef", "sessionId"} with the key`,
    ],
  },
]

/** Rails on which the service takes no payments: a settled payment there can only be bound to a human. */
const bindingOnly = rails.filter((rail) => ['agentpay', 'mpp', 'ousd'].includes(rail))

const inventoryNote = (count: number | undefined, chains: readonly string[]): string => {
  if (count === undefined)
    return 'No task can be bought without a person now: the stock cannot be read. Try again later.'
  if (count === 1) return 'One task can be bought now without a person.'
  if (count > 1) return `${count} tasks can be bought now without a person.`
  return chains.length === 0
    ? 'No task can be bought without a person now: no payment chain is configured here.'
    : 'No task can be bought without a person now: nothing finished is in stock.'
}

/** What the service can do at this moment. What is not configured is not claimed. */
export const manifest = async (
  ctx: Ctx,
  { chains, card, countPurchasable }: PaymentOptions,
): Promise<ResultOf<'discovery.manifest'>> => {
  const { BASE_URL: url, CONTACT: contact } = ctx.config
  const purchasable = await countPurchasable()
  const now = ctx.clock.now().toISOString()
  return {
    service: 'PoHF',
    summary: sentence,
    provides: [...capabilities],
    credential: {
      format: 'JWT (compact JWS)',
      alg: 'ES256',
      jwks: `${url}/.well-known/jwks.json`,
      forging: `${url}/.well-known/pohf-forging.json`,
      issuer: url,
      test_issuer: `${url}/test`,
      kinds: credentialKinds,
      note: 'A credential with test:true is never proof of a real person.',
    },
    settlement: {
      agent_native: {
        status: 'live',
        configured: chains.length > 0,
        method: 'HTTP 402 with a stablecoin by signed EIP-3009 authorization',
      },
      human_in_the_loop: {
        status: 'live',
        configured: card,
        method: 'order, then a hosted card checkout that a person completes',
      },
      binding_only: bindingOnly,
      chains: [...chains],
      rail_agnostic: true,
    },
    endpoints: Object.fromEntries(endpoints.map((row) => [row.publicId, `${row.method} ${url}${row.path}`])),
    how_to_transact: Object.fromEntries(flows.map(({ name, steps }) => [name, steps(url)])),
    contact,
    docs: `${url}/llms.txt`,
    status: {
      checked_at: now,
      purchasable_tasks_now: purchasable ?? 0,
      inventory_note: inventoryNote(purchasable, chains),
      free_plan: {
        seals_per_month: freeSealsPerMonth,
        card_required: false,
        register: `${url}/api/agents/register`,
        condition: freePlanCondition,
      },
      verify_endpoint: `${url}/api/agents/verify`,
      // Packs of credits are paid only by card.
      machine_payable_plans: false,
    },
    updated: now,
  }
}
