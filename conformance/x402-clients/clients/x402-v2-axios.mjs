// @x402/axios 2.11, protocol version 2.
import { decodePaymentResponseHeader, wrapAxiosWithPaymentFromConfig } from '@x402/axios'
import { ExactEvmScheme } from '@x402/evm'
import { create } from 'axios'
import { privateKeyToAccount } from 'viem/accounts'

const account = privateKeyToAccount(process.env.PAYER_PRIVATE_KEY)
const api = wrapAxiosWithPaymentFromConfig(create(), {
  schemes: [{ network: 'eip155:*', client: new ExactEvmScheme(account) }],
})
const response = await api.get(process.env.BUY_URL)
const receipt = response.headers['payment-response']
console.log(
  JSON.stringify({
    status: response.status,
    body: response.data,
    receipt: receipt && decodePaymentResponseHeader(receipt),
  }),
)
