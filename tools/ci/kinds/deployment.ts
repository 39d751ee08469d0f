import { execFile } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { promisify } from 'node:util'
import { Client } from 'pg'
import { encodeFunctionData } from 'viem'
import { startChain, TestDollar, type Chain } from '@pohf/chain'
import { startCheckoutSimulator } from '@pohf/checkout-simulator'
import { freePort } from '../../../packages/server/dev/cluster.ts'
import { makeAttestedModel } from '../../../packages/server/test/fixtures/people/attested-model.ts'
import { callOver } from '../../../packages/server/test/fixtures/processes/attacked-server.ts'
import { startServer } from '../../../packages/server/test/fixtures/processes/server.ts'

const cli = resolve(import.meta.dirname, '../../../packages/cli/src/main.ts')
const run = promisify(execFile)

/** Where USDC is on Base. */
const usdcOnBase = '0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913'
const buyerMicro = 100_000_000n

/** A local chain with the number of Base, and a dollar at the address of USDC there: live work is sold on no other chain. */
const startBase = async (): Promise<Chain> => {
  const chain = await startChain({ chainId: 8_453, idleBlockTime: 1 })
  if (!chain) throw new Error('anvil is not built for this system')
  await chain.rpc('anvil_setCode', [usdcOnBase, TestDollar.runtime])
  const args = [chain.buyer.address, buyerMicro] as const
  await chain.send({
    to: usdcOnBase,
    data: encodeFunctionData({ abi: TestDollar.abi, functionName: 'mint', args }),
  })
  return chain
}

/** The settings of a public server, on this machine: budgets and limits by address are on. */
const publicSettings = {
  TRUSTED_PROXIES: '127.0.0.1',
  ADDRESS_LIMITS: 'on',
  ROOT_BUDGETS: 'on',
  ORDER_REVIEWS: '0',
  PAYOUT_APPROVAL: 'on',
  X402_NETWORK: 'base',
  X402_ASSET_NAME: 'USDC',
}

/** Runs what `close` has to undo, the last first. */
type Closers = (() => unknown)[]

const startParts = async (closers: Closers) => {
  const folder = mkdtempSync(join(tmpdir(), 'pohf-kinds-'))
  closers.push(() => rmSync(folder, { recursive: true, force: true }))
  const chain = await startBase()
  closers.push(() => chain.stop())
  const model = await makeAttestedModel()
  closers.push(() => model.close())
  const [port, operatorPort] = [await freePort(), await freePort()]
  const simulator = await startCheckoutSimulator({
    webhookUrl: `http://127.0.0.1:${port}/api/payments/card/webhook`,
  })
  closers.push(() => simulator.stop())
  const gasKeys = join(folder, 'gas-keys')
  const lines = chain.gasAccounts.map(({ privateKey }) => privateKey).join('\n')
  writeFileSync(gasKeys, lines, { mode: 0o600 })
  const dataDir = join(folder, 'data')
  const server = await startServer({
    ...publicSettings,
    ...simulator.settings,
    ...model.settings,
    PORT: String(port),
    OPERATOR_PORT: String(operatorPort),
    DATA_DIR: dataDir,
    X402_CHAIN_RPC: chain.url,
    X402_PAY_TO: chain.payTo.address,
    X402_GAS_KEYS_FILE: gasKeys,
  })
  closers.push(() => server.stop())
  const database = new Client({ connectionString: server.databaseUrl })
  await database.connect()
  closers.push(() => database.end())
  const environment = {
    ...process.env,
    DATABASE_URL: server.databaseUrl,
    DATA_DIR: dataDir,
    POHF_URL: server.baseUrl,
    POHF_OPERATOR_URL: `http://127.0.0.1:${operatorPort}`,
    PAYER_PRIVATE_KEY: chain.buyer.privateKey,
  }
  return { ...server, model, database, environment }
}

type Answer = Readonly<Record<string, unknown>>

/** A deployment as docs/operate/install.md leaves it, with a card provider and a chain, and one live agent. */
export const startDeployment = async () => {
  const closers: Closers = []
  const close = async () => {
    for (const closer of closers.toReversed()) await closer()
  }
  try {
    const { baseUrl, model, database, environment } = await startParts(closers)
    /** `npx pohf …`, as an operator or a buyer runs it; gives the JSON that it prints. */
    const pohf = async (operatorKey: string, ...parameters: string[]): Promise<Answer> => {
      const env = { ...environment, POHF_OPERATOR_KEY: operatorKey }
      const { stdout } = await run(process.execPath, [cli, ...parameters], { env, timeout: 120_000 })
      return JSON.parse(stdout) as Answer
    }
    const createOperator = async (name: string): Promise<string> =>
      String((await pohf('', 'operator', 'create', name))['operatorKey'])
    const operators = [
      await createOperator('First operator'),
      await createOperator('Second operator'),
    ] as const
    const call = callOver(baseUrl)
    const body = { name: 'My agent', contactEmail: 'me@example.com', mode: 'live' }
    const agent = (await call('POST', '/api/agents/register', { body })).json as {
      agentId: string
      apiKey: string
    }
    const reason = ['--reason', 'known by phone']
    await pohf(operators[0], 'operator', 'confirm-email', agent.agentId, ...reason)
    return {
      baseUrl,
      /** Where people open the pages: passkeys need a host name. */
      origin: baseUrl.replace('127.0.0.1', 'localhost'),
      model,
      database,
      operators,
      pohf,
      agentId: agent.agentId,
      /** Calls the API as the agent. */
      call: (method: string, path: string, sent?: unknown) =>
        call(method, path, { key: agent.apiKey, ...(sent === undefined ? {} : { body: sent }) }),
      close,
    }
  } catch (error) {
    await close()
    throw error
  }
}
export type Deployment = Awaited<ReturnType<typeof startDeployment>>
