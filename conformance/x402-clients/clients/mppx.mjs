// mppx 0.11, the client of another protocol (MPP), which also pays by x402 version 2.
import { evm, Mppx } from 'mppx/client'
import { privateKeyToAccount } from 'viem/accounts'

const account = privateKeyToAccount(process.env.PAYER_PRIVATE_KEY)
const mppx = Mppx.create({ methods: [evm({ account })], polyfill: false })
const response = await mppx.fetch(process.env.BUY_URL)
const receipt = response.headers.get('payment-response')
console.log(
  JSON.stringify({
    status: response.status,
    body: await response.json(),
    receipt: receipt && JSON.parse(Buffer.from(receipt, 'base64').toString()),
  }),
)
