// @x402/fetch 2.27, protocol version 2. It pays at most 1 USD, and only in tokens that it knows.
import { ExactEvmScheme } from '@x402/evm'
import { decodePaymentResponseHeader, wrapFetchWithPaymentFromConfig } from '@x402/fetch'
import { privateKeyToAccount } from 'viem/accounts'

const account = privateKeyToAccount(process.env.PAYER_PRIVATE_KEY)
const pay = wrapFetchWithPaymentFromConfig(fetch, {
  schemes: [{ network: 'eip155:*', client: new ExactEvmScheme(account) }],
})
const response = await pay(process.env.BUY_URL)
const receipt = response.headers.get('payment-response')
console.log(
  JSON.stringify({
    status: response.status,
    body: await response.json(),
    receipt: receipt && decodePaymentResponseHeader(receipt),
  }),
)
