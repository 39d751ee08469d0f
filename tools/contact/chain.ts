import { spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { domainSeparator, encodeFunctionData, formatEther, parseAbi, type Hex } from 'viem'
import { generatePrivateKey, privateKeyToAccount } from 'viem/accounts'

import { makeChain, type Chain } from '../../packages/server/src/payments/x402/chain.ts'
import {
  authorizationTypes,
  checkSignature,
  domainOf,
} from '../../packages/server/src/payments/x402/check.ts'
import { readGasKeys } from '../../packages/server/src/payments/x402/gas-keys.ts'
import { feesAt, lowBalanceWei } from '../../packages/server/src/payments/x402/gas.ts'
import { networkOf, type Network } from '../../packages/server/src/payments/x402/network.ts'
import { makeRpc, type Rpc } from '../../packages/server/src/payments/x402/rpc.ts'
import { transferData } from '../../packages/server/src/payments/x402/token.ts'
import { clientContextOf, reasonOf, StepFailure, type Input } from './steps.ts'

const separatorData = encodeFunctionData({
  abi: parseAbi(['function DOMAIN_SEPARATOR() view returns (bytes32)']),
})
/** A node that is further behind would accept payments late. */
const blockAgeSecondsMax = 120

type Node = { readonly rpc: Rpc; readonly chain: Chain; readonly network: Network }

/** Runs a call of the node, and says in plain words why it failed. */
const ask = async <T>(setting: string, call: Promise<T>): Promise<T> => {
  try {
    return await call
  } catch (error) {
    throw new StepFailure(
      `the node of ${setting} did not answer: ${reasonOf(error)}`,
      `Check the address and the key in ${setting}, the quota of the provider, and that this machine may connect there.`,
    )
  }
}

const readChainId = async (rpc: Rpc, setting: string): Promise<number> =>
  Number(String(await ask(setting, rpc('eth_chainId', []))))

const openNode = ({ config, step }: Input): Promise<Node> =>
  step('The settings name a node, a recipient and an account that pays gas', (note) => {
    const { X402_CHAIN_RPC: url, X402_GAS_KEYS_FILE: keysFile, X402_FACILITATOR_URL: facilitator } = config
    if (url === undefined)
      throw new StepFailure(
        'X402_CHAIN_RPC is not set',
        'Get the JSON-RPC address of a node, and set X402_CHAIN_RPC, X402_NETWORK and X402_PAY_TO.',
      )
    if (keysFile === undefined && facilitator === undefined)
      throw new StepFailure(
        'neither X402_GAS_KEYS_FILE nor X402_FACILITATOR_URL is set',
        'Follow docs/operate/operations.md, Payments on a chain: nobody else submits the payments.',
      )
    const network = networkOf(config)
    const context = clientContextOf(config)
    const rpc = makeRpc(context, url)
    note(`${network.name}, token ${network.asset}, recipient ${network.payTo}`)
    return { rpc, network, chain: makeChain(rpc, context.clock, network.asset.toLowerCase() as Hex) }
  })

const checkNode = async ({ step }: Input, { rpc, chain, network }: Node): Promise<void> => {
  await step('The node answers for the chain of X402_NETWORK', async (note) => {
    const chainId = await readChainId(rpc, 'X402_CHAIN_RPC')
    if (chainId !== network.chainId)
      throw new StepFailure(
        `the node is of chain ${chainId}, and ${network.name} is chain ${network.chainId}`,
        'Set X402_CHAIN_RPC to a node of the chain of X402_NETWORK.',
      )
    note(`chain ${chainId}`)
  })
  await step('The newest block is from now', async (note) => {
    const { number, timestamp } = await ask('X402_CHAIN_RPC', chain.head())
    const ageSeconds = Math.floor(Date.now() / 1_000) - Number(timestamp)
    if (Math.abs(ageSeconds) > blockAgeSecondsMax)
      throw new StepFailure(
        `block ${number} is ${ageSeconds} seconds old`,
        'Set the clock of this machine, or use a node that follows the chain.',
      )
    note(`block ${number}, ${ageSeconds} seconds old`)
  })
}

const checkToken = async ({ step }: Input, { rpc, chain, network }: Node): Promise<void> => {
  await step('The token is a contract on this chain', async () => {
    if (!(await ask('X402_CHAIN_RPC', chain.hasCode(network.asset as Hex))))
      throw new StepFailure(
        `there is no contract at ${network.asset}`,
        'Remove X402_ASSET, or set it to a token of this chain.',
      )
  })
  await step('Its EIP-712 domain is the one that payers sign for', async (note) => {
    const found = await ask(
      'X402_CHAIN_RPC',
      rpc('eth_call', [{ to: network.asset, data: separatorData }, 'latest']),
    )
    const expected = domainSeparator({ domain: domainOf(network) })
    if (found !== expected)
      throw new StepFailure(
        `the token names the domain ${String(found)}, and ours is ${expected}`,
        'Set X402_ASSET_NAME and X402_ASSET_VERSION to the name and version of the domain of the token.',
      )
    note(`name ${network.assetName}, version ${network.assetVersion}`)
  })
}

const checkGas = async ({ config, step }: Input, { rpc, chain }: Node): Promise<void> => {
  if (config.X402_GAS_KEYS_FILE === undefined) return
  await step('Each gas account has coins for at least 20 payments', async (note) => {
    const needed = lowBalanceWei(feesAt(await ask('X402_CHAIN_RPC', chain.head()), config))
    for (const key of readGasKeys(config)) {
      const { address } = privateKeyToAccount(key)
      const balance = BigInt(String(await ask('X402_CHAIN_RPC', rpc('eth_getBalance', [address, 'latest']))))
      note(`${address} has ${formatEther(balance)}, needs ${formatEther(needed)}`)
      if (balance < needed)
        throw new StepFailure(`account ${address} has too few coins`, `Send coins for gas to ${address}.`)
    }
  })
}

/** A transfer of nothing, by a key that is made for it and forgotten: it needs no money and proves the encoding. */
const signNothing = async (network: Network) => {
  const payer = privateKeyToAccount(generatePrivateKey())
  const nowSeconds = BigInt(Math.floor(Date.now() / 1_000))
  const authorization = {
    from: payer.address,
    to: network.payTo as Hex,
    value: 0n,
    validAfter: nowSeconds - 600n,
    validBefore: nowSeconds + 600n,
    nonce: `0x${randomBytes(32).toString('hex')}` as const,
  }
  const signFor = (domain: ReturnType<typeof domainOf>) =>
    payer.signTypedData({
      domain,
      types: authorizationTypes,
      primaryType: 'TransferWithAuthorization',
      message: authorization,
    })
  return {
    authorization,
    signature: await signFor(domainOf(network)),
    wrongSignature: await signFor({ ...domainOf(network), name: 'Another token' }),
  }
}

const checkTransfer = async ({ step }: Input, { chain, network }: Node): Promise<void> => {
  const { authorization, signature, wrongSignature } = await signNothing(network)
  await step('The token would accept a transfer by authorization (eth_call, over 0)', async () => {
    const payment = { scheme: 'exact', network: network.caip2, authorization, signature }
    const { fault } = await checkSignature(payment, { network, acceptsContractWallets: false })
    if (fault !== undefined) throw new Error(fault)
    const reason = await ask('X402_CHAIN_RPC', chain.simulate(transferData(authorization, signature, 'key')))
    if (reason !== undefined)
      throw new StepFailure(
        `the token refuses it: ${reason}`,
        'Use a token with transferWithAuthorization (EIP-3009), and a recipient that it does not block.',
      )
  })
  await step('The token would refuse the same transfer with a wrong signature', async (note) => {
    const data = transferData(authorization, wrongSignature, 'key')
    const reason = await ask('X402_CHAIN_RPC', chain.simulate(data))
    if (reason === undefined)
      throw new StepFailure(
        'the token accepts it',
        'Do not sell for this token: anybody can move its balances.',
      )
    note(reason)
  })
}

/** The chains of bindings and contract wallets, and the registries. */
const checkOtherChains = async ({ config, step }: Input): Promise<void> => {
  const context = clientContextOf(config)
  for (const [chainId, url] of config.EVM_RPC_URLS) {
    const rpc = makeRpc(context, url)
    await step(`The node of EVM_RPC_URLS answers for chain ${chainId}`, async () => {
      const found = await readChainId(rpc, 'EVM_RPC_URLS')
      if (found !== chainId)
        throw new StepFailure(`it is of chain ${found}`, 'Correct the address of this chain in EVM_RPC_URLS.')
    })
    const registry = config.ONCHAIN_REGISTRIES.get(chainId)
    if (registry === undefined) continue
    await step(`The registry of chain ${chainId} is a contract`, async () => {
      const chain = makeChain(rpc, context.clock, registry as Hex)
      if (!(await ask('EVM_RPC_URLS', chain.hasCode(registry as Hex))))
        throw new StepFailure(
          `there is no contract at ${registry}`,
          'Deploy it with `npx node packages/chain/src/deploy.ts`, or correct ONCHAIN_REGISTRIES.',
        )
    })
  }
}

const buyPriceUsdMax = '0.10'
const cliFile = join(import.meta.dirname, '../../packages/cli/src/main.ts')
/** The exit codes of `pohf buy`, as docs/guides/buy.md lists them. */
const buyFaults: Readonly<Record<number, string>> = {
  1: 'it was refused, and nothing was charged',
  2: 'the call was wrong, and nothing was charged',
  3: 'it is not known yet how it ended',
  4: 'the wallet was charged, and there is no credential that verifies',
  5: 'the service does not answer, and nothing was charged',
}

/** Buys one unit of the running service, with the command that buyers use. */
const buyOne = async ({ config, environment, options, step, say }: Input): Promise<void> => {
  const { spend: workflowId } = options
  if (workflowId === undefined)
    return say('Nothing was spent. With --spend WORKFLOW_ID it also buys one unit at BASE_URL.')
  const title = `A wallet buys one unit of ${workflowId} at ${config.BASE_URL} for at most ${buyPriceUsdMax} USD`
  await step(title, async (note) => {
    if (!environment['PAYER_PRIVATE_KEY'])
      throw new StepFailure(
        'PAYER_PRIVATE_KEY is not set',
        'Make a wallet for this purchase, send it a dollar of the token, and set PAYER_PRIVATE_KEY to its key.',
      )
    const parameters = ['buy', workflowId, '--url', config.BASE_URL, '--max-usd', buyPriceUsdMax]
    const child = spawn(process.execPath, [cliFile, ...parameters], {
      env: environment,
      stdio: ['ignore', 'ignore', 'pipe'],
    })
    const lines: string[] = []
    // Only on the terminal: the id of the purchase gives access to what was bought.
    createInterface(child.stderr).on('line', (line) => {
      lines.push(line.trim())
      say(line.trim())
    })
    const code = await new Promise<number | null>((resolve) => child.once('close', resolve))
    if (code !== 0)
      throw new StepFailure(
        `${buyFaults[code ?? 0] ?? 'the command was killed'} (pohf buy, exit code ${code})`,
        'Read the lines above: they say why, and how to resume.',
      )
    for (const line of lines.filter((text) => /transaction 0x/.test(text))) note(line)
  })
}

/** Reads the chain that purchases are paid on, and simulates a payment. It signs nothing that moves money. */
export const contactChain = async (input: Input): Promise<void> => {
  const node = await openNode(input)
  await checkNode(input, node)
  await checkToken(input, node)
  await checkGas(input, node)
  await checkTransfer(input, node)
  await checkOtherChains(input)
  await buyOne(input)
}
