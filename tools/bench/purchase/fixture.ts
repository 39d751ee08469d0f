import { spawn } from 'node:child_process'
import { existsSync } from 'node:fs'
import { Agent, createServer, request as httpRequest } from 'node:http'
import type { AddressInfo } from 'node:net'
import { fileURLToPath } from 'node:url'
import { usdcAddress, type Account, type Chain } from '@pohf/chain'
import type { Hex } from 'viem'
import { privateKeyToAccount } from 'viem/accounts'
import {
  decode,
  encode,
  makePayer,
  type PaymentOption,
} from '../../../packages/server/test/fixtures/payments/payer.ts'
import { transferData } from '../../chaos/purchase-wallets.ts'
import { within } from '../../driver/program.ts'

const clients = new URL('../../../conformance/x402-clients/', import.meta.url)

/** Counts the RPC calls on their way to the chain, by method. */
export const startRpcCounter = async (target: string) => {
  const counts = new Map<string, number>()
  const times = new Map<string, number[]>()
  const agent = new Agent({ keepAlive: true })
  const server = createServer((incoming, outgoing) => {
    const chunks: Buffer[] = []
    incoming.on('data', (chunk: Buffer) => chunks.push(chunk))
    incoming.on('end', () => {
      const body = Buffer.concat(chunks)
      const { method } = JSON.parse(body.toString()) as { method: string }
      counts.set(method, (counts.get(method) ?? 0) + 1)
      const startedAt = performance.now()
      const onward = httpRequest(
        target,
        {
          method: 'POST',
          agent,
          headers: { 'content-type': 'application/json', 'content-length': body.length },
        },
        (answer) => {
          outgoing.writeHead(answer.statusCode ?? 502, { 'content-type': 'application/json' })
          answer.pipe(outgoing)
          answer.once('end', () =>
            times.set(method, [...(times.get(method) ?? []), performance.now() - startedAt]),
          )
        },
      )
      onward.on('error', () => outgoing.writeHead(502).end())
      onward.end(body)
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    takeCounts: () => {
      const taken = new Map(counts)
      counts.clear()
      return taken
    },
    /** Milliseconds of the chain for each call of a method. */
    times,
    stop: () => {
      server.closeAllConnections()
      server.close()
      agent.destroy()
    },
  }
}

/** Why the official facilitator cannot be run here. */
export const missingFacilitator = (): string | undefined =>
  existsSync(new URL('node_modules/@x402/evm', clients))
    ? undefined
    : 'the official facilitator is not installed: npm ci --ignore-scripts --prefix conformance/x402-clients'

/** A server on the official facilitator path, as a process of its own like ours. */
export const startOfficialFacilitator = async (chain: Chain, gasKey: Hex, rpcUrl = chain.url) => {
  const child = spawn(process.execPath, [fileURLToPath(new URL('facilitator.mjs', clients))], {
    env: {
      ...process.env,
      RPC_URL: rpcUrl,
      GAS_KEY: gasKey,
      PAY_TO: chain.payTo.address,
      ASSET: usdcAddress,
    },
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const listening = new Promise<string>((resolve, reject) => {
    child.stdout.once('data', (line: Buffer) => resolve(line.toString().trim()))
    child.once('exit', (exitCode) =>
      reject(new Error(`official facilitator exited with code ${exitCode} before it listened`)),
    )
  })
  const stop = () => void child.kill()
  try {
    const url = await within('the official facilitator listens', 60, listening)
    return { url, pid: child.pid ?? 0, stop }
  } catch (error) {
    stop()
    throw error
  }
}

/** A node or a server that does not answer is named within a minute. */
const answerMsMax = 30_000

/** Signs what an entry asks for. */
const signFor = async (payer: Account, entry: PaymentOption) => {
  const wallet = makePayer(payer.privateKey)
  const authorization = wallet.authorize(entry, Math.floor(Date.now() / 1_000))
  return { authorization, signature: await wallet.sign(entry, authorization) }
}

type PaymentRequired = { readonly resource: unknown; readonly accepts: readonly PaymentOption[] }

/** Buys as a client of version 2 does, and says how long the whole took and how long the paid call alone. */
export const buy = async (url: string, payer: Account) => {
  const startedAt = performance.now()
  const asked = await fetch(url, { signal: AbortSignal.timeout(answerMsMax) })
  await asked.arrayBuffer()
  const header = asked.headers.get('payment-required') ?? ''
  const { resource, accepts } = decode(header) as PaymentRequired
  const [accepted] = accepts
  if (asked.status !== 402 || !accepted)
    throw new Error(`${url} answered ${asked.status} without terms, expected 402 with payment terms`)
  const payload = await signFor(payer, accepted)
  const payment = { x402Version: 2, resource, accepted, payload }
  const sentAt = performance.now()
  const paid = await fetch(url, {
    headers: { 'payment-signature': encode(payment) },
    signal: AbortSignal.timeout(answerMsMax),
  })
  const text = await paid.text()
  const endedAt = performance.now()
  if (paid.status !== 200)
    throw new Error(
      `${url} answered ${paid.status} to the payment of ${payer.address}: ${text.slice(0, 300)}`,
    )
  return { wholeMs: endedAt - startedAt, paidMs: endedAt - sentAt, endedAt }
}

/** The floor: sign the same transaction and hand it to the node, one call, nothing checked and nothing stored. */
export const makeBareTransfer = async (chain: Chain, gas: Account, payer: Account, rpcUrl = chain.url) => {
  const account = privateKeyToAccount(gas.privateKey)
  let nonce = Number(await chain.rpc('eth_getTransactionCount', [gas.address, 'pending']))
  const entry: PaymentOption = {
    scheme: 'exact',
    network: 'eip155:84532',
    asset: usdcAddress,
    payTo: chain.payTo.address,
    extra: { name: 'USDC', version: '2' },
    amount: '10000',
  }
  return async () => {
    const { authorization, signature } = await signFor(payer, entry)
    const startedAt = performance.now()
    const raw = await account.signTransaction({
      type: 'eip1559',
      chainId: chain.chainId,
      nonce: nonce++,
      to: usdcAddress,
      data: transferData(authorization, signature),
      gas: 150_000n,
      maxFeePerGas: 10_000_000_000n,
      maxPriorityFeePerGas: 1_000_000n,
    })
    const response = await fetch(rpcUrl, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'eth_sendRawTransactionSync', params: [raw] }),
      signal: AbortSignal.timeout(answerMsMax),
    })
    const { result, error } = (await response.json()) as { result?: { status: Hex }; error?: unknown }
    const endedAt = performance.now()
    if (result?.status !== '0x1') throw new Error(`bare transfer failed: ${JSON.stringify(error ?? result)}`)
    return { paidMs: endedAt - startedAt, endedAt }
  }
}
