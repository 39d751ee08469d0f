// x402-fetch 1.2, protocol version 1. Its cap is 0.10 USD unless a third argument raises it.
import { privateKeyToAccount } from 'viem/accounts'
import { decodeXPaymentResponse, wrapFetchWithPayment } from 'x402-fetch'

const pay = wrapFetchWithPayment(fetch, privateKeyToAccount(process.env.PAYER_PRIVATE_KEY))
const response = await pay(process.env.BUY_URL)
const receipt = response.headers.get('x-payment-response')
console.log(
  JSON.stringify({
    status: response.status,
    body: await response.json(),
    receipt: receipt && decodeXPaymentResponse(receipt),
  }),
)
