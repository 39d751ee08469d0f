import { at, expectEqual, expectThat, instantAt, recordAt, textAt } from '../../expect.ts'
import { mintSession, testAgent } from '../../fixtures.ts'
import { expectStatus, type HttpResponse } from '../../http.ts'
import { isSignedWith, openWebhookInbox, type WebhookInbox } from '../../webhook-receiver.ts'
import { refusesInput, type Section } from '../../statement.ts'
import { bindWallet } from '../../wallet.ts'
import { oncePerRun, type RunContext } from '../../run-context.ts'

const webhooks = 'POST /api/agents/webhooks'
const personhood = 'POST /api/agents/verify-personhood'
const challenge = 'POST /api/agents/wallet/challenge'
const verify = 'POST /api/agents/verify'
const walletBound = 'personhood.wallet_bound'
const remoteUrl = 'https://hooks.example.com/pohf'

const subscribe = async (world: RunContext, url: string, events: readonly string[]): Promise<HttpResponse> =>
  world.http.post('/api/agents/webhooks', { url, events }, { key: (await testAgent(world)).apiKey })

export const webhookRegistration: Section = {
  name: 'POST /api/agents/webhooks',
  statements: [
    {
      id: 'webhooks.answers',
      title: 'a subscription is answered with its id and a signing secret',
      needs: [webhooks],
      run: async (world) => {
        const answer = await subscribe(world, remoteUrl, [walletBound])
        expectStatus(answer, 200)
        textAt(answer.body, 'id')
        textAt(answer.body, 'signingSecret')
      },
    },
    {
      id: 'webhooks.own-secret',
      title: 'every subscription has an id and a secret of its own, also for the same address',
      needs: [webhooks],
      run: async (world) => {
        const one = await subscribe(world, remoteUrl, [walletBound])
        const two = await subscribe(world, remoteUrl, [walletBound])
        const [idOne, idTwo] = [textAt(one.body, 'id'), textAt(two.body, 'id')]
        expectThat(idOne !== idTwo, 'two ids', idOne)
        const [secretOne, secretTwo] = [textAt(one.body, 'signingSecret'), textAt(two.body, 'signingSecret')]
        expectThat(secretOne !== secretTwo, 'two secrets', 'one secret')
      },
    },
    {
      id: 'webhooks.secret-form',
      title: 'the secret is whsec_ and 32 bytes in base64',
      needs: [webhooks],
      isProjectDecision: true,
      run: async (world) => {
        const secret = textAt((await subscribe(world, remoteUrl, [walletBound])).body, 'signingSecret')
        expectThat(secret.startsWith('whsec_'), 'whsec_…', secret)
        expectEqual(Buffer.from(secret.slice(6), 'base64').length, 32, 'bytes:')
      },
    },
    {
      id: 'webhooks.other-events',
      title: 'event names that are not in the specification, and all of them at once, can be subscribed',
      needs: [webhooks],
      isProjectDecision: true,
      run: async (world) => {
        textAt((await subscribe(world, remoteUrl, ['credential.issued', 'something.else'])).body, 'id')
        textAt((await subscribe(world, remoteUrl, ['*'])).body, 'id')
      },
    },
    refusesInput('webhooks.url-required', 'a subscription without an address is refused', webhooks, {
      field: 'url',
      body: { events: [walletBound] },
    }),
    refusesInput('webhooks.url-form', 'a subscription of something that is no address is refused', webhooks, {
      field: 'url',
      body: { url: 'nowhere', events: [walletBound] },
    }),
    refusesInput('webhooks.events-required', 'a subscription without events is refused', webhooks, {
      field: 'events',
      body: { url: remoteUrl },
    }),
    refusesInput('webhooks.events-are-a-list', 'one event name does not pass for a list', webhooks, {
      field: 'events',
      body: { url: remoteUrl, events: walletBound },
    }),
    refusesInput('webhooks.events-not-empty', 'a subscription to no event at all is refused', webhooks, {
      field: 'events',
      body: { url: remoteUrl, events: [] },
    }),
  ],
}

type Subscription = { readonly inbox: WebhookInbox; readonly id: string; readonly signingSecret: string }

const openSubscription = async (world: RunContext, refusals = 0): Promise<Subscription> => {
  const inbox = await openWebhookInbox(world, refusals)
  const { body } = await subscribe(world, inbox.url, [walletBound])
  return { inbox, id: textAt(body, 'id'), signingSecret: textAt(body, 'signingSecret') }
}

/** One subscription, an event that nobody subscribed to, and then the one that was. */
const sharedDelivery = oncePerRun(async (world) => {
  const subscription = await openSubscription(world)
  const agent = await testAgent(world)
  await mintSession(world, agent)
  const { memberId, binding, minted } = await bindWallet(world, agent)
  const delivery = await subscription.inbox.waitFor(walletBound)
  return { ...subscription, memberId, binding, minted, delivery }
})

const needs = [webhooks, challenge, personhood, verify] as const

export const events: Section = {
  name: 'Events',
  statements: [
    {
      id: 'events.wallet-bound',
      title: 'binding a wallet to a person is told to the subscriber by POST',
      needs,
      loopback: true,
      run: async (world) => {
        const { delivery } = await sharedDelivery(world)
        expectEqual(delivery.type, walletBound, 'type')
      },
    },
    {
      id: 'events.signature-header',
      title: 'a delivery carries X-Service-Signature',
      needs,
      loopback: true,
      run: async (world) => {
        const { delivery } = await sharedDelivery(world)
        textAt(delivery.headers, 'x-service-signature')
      },
    },
    {
      id: 'events.signature-verifies',
      title: 'the signature is the HMAC made with the secret of the subscription',
      needs,
      loopback: true,
      isProjectDecision: true,
      run: async (world) => {
        const { delivery, signingSecret } = await sharedDelivery(world)
        expectThat(
          isSignedWith(signingSecret, delivery, 'x-service-signature'),
          'a signature that fits',
          delivery.headers['x-service-signature'],
        )
      },
    },
    {
      id: 'events.signature-covers-body',
      title: 'the signature does not fit an altered body or another secret',
      needs,
      loopback: true,
      run: async (world) => {
        const { delivery, signingSecret } = await sharedDelivery(world)
        textAt(delivery.headers, 'x-service-signature')
        const altered = { ...delivery, raw: delivery.raw.replace('{', '{ ') }
        expectThat(
          !isSignedWith(signingSecret, altered, 'x-service-signature'),
          'no fit with an altered body',
          'a fit',
        )
        const other = `whsec_${Buffer.alloc(32).toString('base64')}`
        expectThat(
          !isSignedWith(other, delivery, 'x-service-signature'),
          'no fit with another secret',
          'a fit',
        )
      },
    },
    {
      id: 'events.standard-webhooks',
      title:
        'a delivery also follows Standard Webhooks: id, timestamp, and the same signature under its name',
      needs,
      loopback: true,
      isProjectDecision: true,
      run: async (world) => {
        const { headers } = (await sharedDelivery(world)).delivery
        textAt(headers, 'webhook-id')
        const seconds = Number(textAt(headers, 'webhook-timestamp'))
        expectThat(Math.abs(Date.now() / 1_000 - seconds) < 300, 'a timestamp of now', seconds)
        expectEqual(
          textAt(headers, 'webhook-signature'),
          textAt(headers, 'x-service-signature'),
          'the signature',
        )
      },
    },
    {
      id: 'events.envelope',
      title: 'the payload names its event, its time, its agent, and that it is a test',
      needs,
      loopback: true,
      isProjectDecision: true,
      run: async (world) => {
        const payload: unknown = JSON.parse((await sharedDelivery(world)).delivery.raw)
        textAt(payload, 'id')
        instantAt(payload, 'timestamp')
        expectEqual(at(payload, 'agentId'), (await testAgent(world)).agentId, 'agentId')
        expectEqual(at(payload, 'test'), true, 'test')
        recordAt(payload, 'data')
      },
    },
    {
      id: 'events.wallet-bound-data',
      title: 'the payload names the wallet and the credential',
      needs,
      loopback: true,
      isProjectDecision: true,
      run: async (world) => {
        const { binding, minted, delivery } = await sharedDelivery(world)
        const payload: unknown = JSON.parse(delivery.raw)
        const wallet = textAt(payload, 'data.wallet')
        expectEqual(wallet.toLowerCase(), binding.wallet.toLowerCase(), 'wallet')
        expectEqual(at(payload, 'data.credentialId'), minted.credentialId, 'credentialId')
      },
    },
    {
      id: 'events.only-subscribed',
      title: 'nothing but the named events is delivered',
      needs,
      loopback: true,
      run: async (world) => {
        const { inbox } = await sharedDelivery(world)
        const others = inbox.deliveries.filter((delivery) => delivery.type !== walletBound)
        expectThat(inbox.deliveries.length > 0, 'a delivery', 'none')
        expectEqual(others.length, 0, 'other deliveries:')
      },
    },
    {
      id: 'events.retried',
      title: 'a delivery that the receiver refuses comes again, under the same id',
      needs,
      loopback: true,
      isProjectDecision: true,
      run: async (world) => {
        const { inbox } = await openSubscription(world, 1)
        await bindWallet(world, await testAgent(world))
        const first = await inbox.waitFor(walletBound)
        const second = await inbox.waitFor(walletBound, 2)
        expectEqual(textAt(second.headers, 'webhook-id'), textAt(first.headers, 'webhook-id'), 'webhook-id')
      },
    },
  ],
}
