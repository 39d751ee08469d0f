// Puts a HumanRegistry on a chain. RPC=… OWNER=0x… DEPLOYER_KEY=0x… [KEY_DELAY_DAYS=2] npx node packages/chain/src/deploy.ts
import { createPublicClient, createWalletClient, http, isAddress } from 'viem'
import { privateKeyToAccount } from 'viem/accounts'
import { HumanRegistry } from './contracts.ts'

const { RPC, OWNER = '', DEPLOYER_KEY = '', KEY_DELAY_DAYS = '2' } = process.env
const isComplete =
  RPC !== undefined &&
  isAddress(OWNER) &&
  /^0x[0-9a-f]{64}$/i.test(DEPLOYER_KEY) &&
  /^\d{1,3}$/.test(KEY_DELAY_DAYS)
if (!isComplete) {
  console.error(
    'Set RPC (the address of a node), OWNER (who adds and revokes keys) and DEPLOYER_KEY (an account with gas). KEY_DELAY_DAYS (default 2) is the time from the announcement of a key to its first use.',
  )
  process.exit(2)
}
const transport = http(RPC)
const reader = createPublicClient({ transport })
const account = privateKeyToAccount(DEPLOYER_KEY as `0x${string}`)
const { abi, bytecode } = HumanRegistry
const hash = await createWalletClient({ transport, account }).deployContract({
  abi,
  bytecode,
  args: [OWNER, Number(KEY_DELAY_DAYS) * 86_400],
  chain: null,
})
const receipt = await reader.waitForTransactionReceipt({ hash, timeout: 180_000 })
if (receipt.status !== 'success' || !receipt.contractAddress) {
  console.error(`The transaction ${hash} was reverted.`)
  process.exit(1)
}
console.log(receipt.contractAddress)
