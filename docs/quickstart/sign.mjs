// Reads a wallet challenge from standard input, signs it with a new wallet, and writes the body for verify-personhood.
import { readFileSync } from 'node:fs'
import { generatePrivateKey, privateKeyToAccount } from 'viem/accounts'

const { nonce, message } = JSON.parse(readFileSync(0, 'utf8'))
const account = privateKeyToAccount(generatePrivateKey())
const walletSig = await account.signMessage({ message })
console.log(JSON.stringify({ memberId: 'anna', wallet: account.address, walletSig, walletNonce: nonce }))
