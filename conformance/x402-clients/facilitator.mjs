// A shop on the official facilitator path, to measure ours beside it: @x402/core and @x402/evm with viem's own signer
// verify and settle, then an ES256 token is signed. It has no database and forgets everything.
import { generateKeyPairSync, sign } from 'node:crypto'
import { createServer } from 'node:http'
import { x402Facilitator } from '@x402/core/facilitator'
import { toFacilitatorEvmSigner } from '@x402/evm'
import { ExactEvmScheme } from '@x402/evm/exact/facilitator'
import { createWalletClient, http, publicActions } from 'viem'
import { privateKeyToAccount } from 'viem/accounts'
import { baseSepolia } from 'viem/chains'

const { RPC_URL, GAS_KEY, PAY_TO, ASSET } = process.env
const account = privateKeyToAccount(GAS_KEY)
const wallet = createWalletClient({
  account,
  chain: baseSepolia,
  transport: http(RPC_URL),
  pollingInterval: 50,
}).extend(publicActions)
const facilitator = new x402Facilitator().register(
  'eip155:84532',
  new ExactEvmScheme(toFacilitatorEvmSigner({ ...wallet, address: account.address })),
)
const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })

const requirement = {
  scheme: 'exact',
  network: 'eip155:84532',
  amount: '10000',
  asset: ASSET,
  payTo: PAY_TO,
  maxTimeoutSeconds: 120,
  extra: { name: 'USDC', version: '2' },
}
const encode = (value) => Buffer.from(JSON.stringify(value)).toString('base64')

const answer = async (request) => {
  const header = request.headers['payment-signature']
  if (header === undefined) {
    const required = {
      x402Version: 2,
      error: 'payment_required',
      resource: {
        url: `http://${request.headers.host}/`,
        description: 'a unit',
        mimeType: 'application/json',
      },
      accepts: [requirement],
    }
    return {
      status: 402,
      headers: { 'payment-required': encode(required) },
      body: { error: 'payment_required' },
    }
  }
  const payment = JSON.parse(Buffer.from(header, 'base64').toString())
  const verified = await facilitator.verify(payment, requirement)
  if (!verified.isValid) return { status: 402, headers: {}, body: verified }
  const settled = await facilitator.settle(payment, requirement)
  if (!settled.success) return { status: 402, headers: {}, body: settled }
  const text = `${encode({ alg: 'ES256' })}.${encode({ payer: settled.payer, transaction: settled.transaction })}`
  const signature = sign('sha256', Buffer.from(text), { key: privateKey, dsaEncoding: 'ieee-p1363' })
  const body = { token: `${text}.${signature.toString('base64url')}`, payment: settled }
  return { status: 200, headers: { 'payment-response': encode(settled) }, body }
}

const server = createServer((request, response) => {
  const reply = ({ status, headers, body }) =>
    response.writeHead(status, { 'content-type': 'application/json', ...headers }).end(JSON.stringify(body))
  answer(request).then(reply, (error) => reply({ status: 500, headers: {}, body: { error: String(error) } }))
})
server.listen(0, '127.0.0.1', () => console.log(`http://127.0.0.1:${server.address().port}/`))
