// An agent that knows the address of the service and nothing else, and has a wallet and no key: it finds the documents, lists the work,
// buys a unit and verifies the credential. @x402/fetch 2.27 pays, jose verifies, mppx reads OpenAPI. It calls no address that a document did not name.
import { ExactEvmScheme } from '@x402/evm'
import { decodePaymentResponseHeader, wrapFetchWithPaymentFromConfig } from '@x402/fetch'
import { createRemoteJWKSet, jwtVerify } from 'jose'
import { validate } from 'mppx/discovery'
import { privateKeyToAccount } from 'viem/accounts'

const say = (step, what) => console.error(`${step.padEnd(9)} ${what}`)
const read = async (address) => {
  const response = await fetch(address)
  if (!response.ok) throw new Error(`${address} answered ${response.status}`)
  return response
}

// Discover: the home page links to the catalogue (RFC 9727), and the catalogue to the manifest.
const home = await read(process.env.BASE_URL)
const [, link] = /<([^>]+)>; rel="api-catalog"/.exec(home.headers.get('link') ?? '') ?? []
if (link === undefined) throw new Error('the home page links to no catalogue')
const { linkset } = await (await read(new URL(link, home.url))).json()
const documents = linkset.flatMap((context) => context['service-meta'] ?? [])
const { href } = documents.find(({ title }) => title === 'Manifest')
const manifest = await (await read(href)).json()
say('discover', `${href}: ${manifest.summary}`)
if (!manifest.settlement.agent_native.configured) throw new Error('nothing can be bought without a person')

// Understand: a validator of others reads OpenAPI and what it says about payment.
const [{ href: openApiAddress }] = linkset.flatMap((context) => context['service-desc'] ?? [])
const openApi = await (await read(openApiAddress)).json()
const errors = validate(openApi).filter(({ severity }) => severity === 'error')
if (errors.length > 0) throw new Error(`OpenAPI is not valid: ${JSON.stringify(errors)}`)
const paid = Object.values(openApi.paths).filter((operations) => operations.get?.['x-payment-info'])
if (paid.length === 0) throw new Error('OpenAPI names no paid operation')
say('describe', `${openApiAddress}: ${paid.map(({ get }) => get.operationId).join()} is paid`)

// List: the manifest names the operation, and the list says how a task is bought.
const [, listAddress] = manifest.endpoints['work.workflows-available'].split(' ')
const { workflows, how_to_buy: howToBuy } = await (await read(listAddress)).json()
say('list', `${workflows.length} tasks`)
const account = privateKeyToAccount(process.env.PAYER_PRIVATE_KEY)
const pay = wrapFetchWithPaymentFromConfig(fetch, {
  schemes: [{ network: 'eip155:*', client: new ExactEvmScheme(account) }],
})

// Buy: the first task of which a unit is in stock. A task without one answers 409 and costs nothing.
const buyFirst = async () => {
  for (const { id } of workflows) {
    const address = howToBuy.autonomous.url.replace(/\{\w+\}/, encodeURIComponent(id))
    const response = await pay(address, { method: howToBuy.autonomous.method })
    if (response.status !== 409) return { id, response }
    say('buy', `${id} is out of stock`)
  }
  throw new Error('no task is in stock')
}
const { id, response } = await buyFirst()
const body = await response.json()
say('buy', `${id}: ${response.status}`)

// Verify: with the keys and the issuers that the manifest names.
if (response.status === 200) {
  const { jwks, issuer, test_issuer: testIssuer, alg } = manifest.credential
  const { payload } = await jwtVerify(body.pohf_jwt, createRemoteJWKSet(new URL(jwks)), {
    issuer: [issuer, testIssuer],
    algorithms: [alg],
  })
  if (payload.purchase?.payer !== account.address.toLowerCase())
    throw new Error('the credential is for another payer')
  say('verify', `${payload.jti} of ${payload.iss}`)
}
const receipt = response.headers.get('payment-response')
console.log(
  JSON.stringify({
    status: response.status,
    body,
    receipt: receipt && decodePaymentResponseHeader(receipt),
  }),
)
