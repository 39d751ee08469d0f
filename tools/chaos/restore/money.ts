import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { startChain } from '@pohf/chain'
import { startCheckoutSimulator, type SimulatorState } from '@pohf/checkout-simulator'
import { pollUntil } from '../../../packages/server/test/fixtures/polling.ts'
import { makeWallets, submitAsThirdParty, type SignedPayment } from '../purchase-wallets.ts'
import { claimsOf, request, type HeldCredential } from './service.ts'
import { withDatabase } from '../../driver/service.ts'

/** A payment on the chain, and the credential that it bought. */
type BoughtCredential = { readonly payment: SignedPayment; readonly held: HeldCredential }

const packs = ['starter', 'growth', 'scale'] as const

type Chain = NonNullable<Awaited<ReturnType<typeof startChain>>>
type Simulator = Awaited<ReturnType<typeof startCheckoutSimulator>>

const readCredential = (text: string): HeldCredential => {
  const jwt = /"pohf_jwt":"([^"]+)"/.exec(text)?.[1] ?? ''
  const { jti, status } = claimsOf(jwt) as {
    jti: string
    status: { status_list: { uri: string; idx: number } }
  }
  return { sessionId: '', id: jti, jwt, ...status.status_list }
}

/** What one unit costs. */
const priceUsdcMicro = 10_000

const balanceOf = async (chain: Chain, address: string): Promise<number> => {
  const data = `0x70a08231${address.slice(2).toLowerCase().padStart(64, '0')}`
  return Number(await chain.rpc('eth_call', [{ to: chain.token, data }, 'latest']))
}

/** Purchases over HTTP 402. Every second payment has the nonce of its purchase, as our SDK signs. */
const makeBuyer = async (chain: Chain, baseUrl: string) => {
  const wallets = await makeWallets(chain, 8)
  const url = `${baseUrl}/api/agent/tasks/wf_test_ok/buy`
  let count = 0
  const pay = async (payment: SignedPayment) => {
    const headers = { 'payment-signature': payment.header }
    try {
      const response = await fetch(url, { headers, signal: AbortSignal.timeout(30_000) })
      return { status: response.status, text: await response.text() }
    } catch (error) {
      return { status: 0, text: String(error) }
    }
  }
  return {
    /** Buys one after another; returns what was delivered. */
    buy: async (purchases: number): Promise<BoughtCredential[]> => {
      const bought: BoughtCredential[] = []
      for (let n = 0; n < purchases; n++) {
        const payment = await wallets.sign(url, count, count % 2 === 0 ? 'derived' : 'random')
        count += 1
        const { status, text } = await pay(payment)
        if (status === 200) bought.push({ payment, held: readCredential(text) })
        else console.error(`a purchase was answered ${status}: ${text.slice(0, 300)}`)
      }
      return bought
    },
    /** Payments that are settled on the chain by somebody else, and that nothing is delivered for. */
    payOutside: async (payments: number): Promise<SignedPayment[]> => {
      const signed: SignedPayment[] = []
      for (let n = 0; n < payments; n++) {
        const before = await balanceOf(chain, chain.payTo.address)
        const payment = await wallets.sign(url, count++, 'derived')
        await submitAsThirdParty(chain, payment)
        const isPaid = async () => (await balanceOf(chain, chain.payTo.address)) > before
        await pollUntil('a payment is in a block', isPaid)
        signed.push(payment)
      }
      return signed
    },
    /** Sends payments again; returns how many got each answer. */
    payAgain: async (payments: readonly SignedPayment[]): Promise<Record<string, number>> => {
      const answers: Record<string, number> = {}
      for (const payment of payments) {
        const { status, text } = await pay(payment)
        const error = /"error":"([^"]+)"/.exec(text)?.[1]
        const name = error === undefined ? String(status) : `${status} ${error}`
        answers[name] = (answers[name] ?? 0) + 1
      }
      return answers
    },
  }
}

/** Compares the database with the chain. */
const makeChainChecks = (chain: Chain, balanceBefore: number) => ({
  /** Payments that the chain has and the ledger has not. */
  countUnposted: async (databaseUrl: string): Promise<number> =>
    withDatabase(databaseUrl, async (client) => {
      const { rows } = await client.query<{ posted: string }>(
        "select coalesce(sum(balance), 0)::text as posted from ledger_accounts where account = 'revenue:purchases'",
      )
      const received = (await balanceOf(chain, chain.payTo.address)) - balanceBefore
      return (received - Number(rows[0]?.posted)) / priceUsdcMicro
    }),
  /** Gas accounts whose next nonce is not the one that the chain expects. */
  countNonceFaults: async (databaseUrl: string): Promise<number> =>
    withDatabase(databaseUrl, async (client) => {
      const { rows } = await client.query<{ address: string; next: string }>(
        'select address, next_nonce::text as next from gas_keys',
      )
      let faults = 0
      for (const { address, next } of rows) {
        const expected = await chain.rpc('eth_getTransactionCount', [address, 'pending'])
        if (BigInt(String(expected)) !== BigInt(next)) faults += 1
      }
      return faults
    }),
})

/** Card checkouts for packs of credits. */
const makeCardBuyer = (simulator: Simulator, baseUrl: string) => ({
  openCheckouts: async (apiKey: string): Promise<string[]> => {
    const sessions: string[] = []
    for (const pack of packs) {
      const { json } = await request(`${baseUrl}/api/agents/credits/buy`, 'POST', apiKey, { pack })
      sessions.push(new URL(String(json['checkoutUrl'])).pathname.split('/').at(-1) ?? '')
    }
    return sessions
  },
  payCheckouts: async (sessions: readonly string[]) => {
    for (const session of sessions) await simulator.control(`sessions/${session}/pay`)
  },
  /** Whether the service has answered every event of the provider. */
  isDelivered: async () => {
    const { events, deliveries } = await simulator.control<SimulatorState>('state')
    return events.every(({ id }) =>
      deliveries.some(({ eventId, status }) => eventId === id && status === 200),
    )
  },
})

/** A chain with wallets, and a card provider: what goes on when the database goes back. */
export const openMoney = async (baseUrl: string, folder: string) => {
  const chain = await startChain()
  if (!chain) throw new Error('no chain runs on this system: the battery needs anvil')
  const simulator = await startCheckoutSimulator({ webhookUrl: `${baseUrl}/api/payments/card/webhook` })
  const keys = join(folder, 'gas.keys')
  writeFileSync(keys, chain.gasAccounts.map(({ privateKey }) => privateKey).join('\n'), { mode: 0o600 })
  return {
    settings: {
      ...simulator.settings,
      X402_CHAIN_RPC: chain.url,
      X402_PAY_TO: chain.payTo.address,
      X402_GAS_KEYS_FILE: keys,
    },
    ...makeChainChecks(chain, await balanceOf(chain, chain.payTo.address)),
    ...(await makeBuyer(chain, baseUrl)),
    ...makeCardBuyer(simulator, baseUrl),
    stop: async () => {
      await simulator.stop()
      await chain.stop()
    },
  }
}
