import { expectAbsent, expectEqual, expectThat, recordAt, textAt, webAddressAt } from '../../expect.ts'
import {
  uniqueText,
  liveAgent,
  mintMember,
  verifyJwt,
  sharedMember,
  otherAgent,
  testAgent,
  type MintedCredential,
} from '../../fixtures.ts'
import { expectRefusal, expectStatus } from '../../http.ts'
import { refusesInput, type Section } from '../../statement.ts'
import { bindWallet, newWallet, sharedWallet, signChallenge, walletChallenge } from '../../wallet.ts'
import type { RunContext } from '../../run-context.ts'

const personhood = 'POST /api/agents/verify-personhood'
const challenge = 'POST /api/agents/wallet/challenge'
const jwks = 'GET /.well-known/jwks.json'

const requestPersonhood = async (world: RunContext, body: Readonly<Record<string, string>>) =>
  world.http.post('/api/agents/verify-personhood', body, { key: (await testAgent(world)).apiKey })

/** Puts the four values for a contract together again as the JWT that they are, and checks it. */
const openOnchain = async (world: RunContext, { answer }: MintedCredential) => {
  const onchain = recordAt(answer.body, 'onchain')
  const bytes = (name: string) => {
    const text = textAt(onchain, name)
    expectThat(/^0x[0-9a-f]{64}$/.test(text), `${name} as 32 bytes in hex`, text)
    return Buffer.from(text.slice(2), 'hex')
  }
  const kid = bytes('keyId').toString('base64url')
  const header = JSON.stringify({ alg: 'ES256', typ: 'pohf-onchain+jwt', kid })
  const signature = Buffer.concat([bytes('r'), bytes('s')]).toString('base64url')
  return verifyJwt(
    world,
    `${Buffer.from(header).toString('base64url')}.${textAt(onchain, 'payload')}.${signature}`,
  )
}

export const personhoodCheck: Section = {
  name: 'POST /api/agents/verify-personhood',
  statements: [
    {
      id: 'personhood.mints',
      title: 'a member is turned into a personhood credential',
      needs: [personhood],
      run: async (world) => {
        const { answer } = await mintMember(world, await testAgent(world))
        expectStatus(answer, 200)
        textAt(answer.body, 'pohf_jwt')
      },
    },
    refusesInput('personhood.member-required', 'a call without a member is refused', personhood, {
      field: 'memberId',
      body: {},
    }),
    refusesInput('personhood.wallet-form', 'a wallet that is no EVM address is refused', personhood, {
      field: 'wallet',
      body: { memberId: 'somebody', wallet: '0x12', walletSig: `0x${'11'.repeat(65)}`, walletNonce: 'n' },
    }),
    {
      id: 'personhood.no-credits',
      title: 'a live key without credits gets the link to buy them instead of a credential',
      needs: [personhood],
      isProjectDecision: true,
      run: async (world) => {
        const { apiKey } = await liveAgent(world)
        const body = { memberId: uniqueText('member') }
        const answer = await world.http.post('/api/agents/verify-personhood', body, { key: apiKey })
        expectRefusal(answer, 402, 'insufficient_credits')
        webAddressAt(answer.body, 'buy')
      },
    },
    {
      id: 'personhood.repeat',
      title: 'the same member again gives the same JWT',
      needs: [personhood],
      isProjectDecision: true,
      run: async (world) => {
        const agent = await testAgent(world)
        const memberId = uniqueText('member')
        const first = await mintMember(world, agent, { memberId })
        expectEqual((await mintMember(world, agent, { memberId })).jwt, first.jwt, 'the first JWT')
      },
    },
    {
      id: 'personhood.uniqueness',
      title: 'the answer says how far uniqueness was shown, and by what',
      needs: [personhood],
      isProjectDecision: true,
      run: async (world) => {
        const { body } = (await sharedMember(world)).answer
        const uniqueness = textAt(body, 'uniqueness')
        expectThat(
          ['none', 'account', 'device', 'attested', 'external', 'number', 'deposit', 'organization'].includes(
            uniqueness,
          ),
          'a known uniqueness',
          uniqueness,
        )
        expectThat(Array.isArray(recordAt({ body }, 'body')['methods']), 'methods as an array', body)
      },
    },
    {
      id: 'personhood.sandbox-human',
      title: 'to a test key mem_test_human always ends in a credential',
      needs: [personhood],
      isProjectDecision: true,
      run: async (world) => {
        textAt((await requestPersonhood(world, { memberId: 'mem_test_human' })).body, 'pohf_jwt')
      },
    },
    {
      id: 'personhood.sandbox-duplicate',
      title: 'to a test key mem_test_duplicate is never certified',
      needs: [personhood],
      isProjectDecision: true,
      run: async (world) =>
        expectRefusal(
          await requestPersonhood(world, { memberId: 'mem_test_duplicate' }),
          409,
          'member_not_enrolled',
        ),
    },
    {
      id: 'personhood.sandbox-banned',
      title: 'to a test key mem_test_banned is never certified',
      needs: [personhood],
      isProjectDecision: true,
      run: async (world) =>
        expectRefusal(
          await requestPersonhood(world, { memberId: 'mem_test_banned' }),
          409,
          'member_not_enrolled',
        ),
    },
    {
      id: 'personhood.sandbox-reserved',
      title: 'to a test key another id that begins with mem_test_ does not exist',
      needs: [personhood],
      isProjectDecision: true,
      run: async (world) =>
        expectRefusal(await requestPersonhood(world, { memberId: 'mem_test_fail' }), 404, 'not_found'),
    },
    {
      id: 'personhood.wallet-claim',
      title: 'with a signed challenge the credential names the wallet',
      needs: [personhood, challenge, jwks],
      run: async (world) => {
        const { binding, minted } = await sharedWallet(world)
        const wallet = textAt(await minted.claims(), 'wallet')
        expectEqual(wallet.toLowerCase(), binding.wallet.toLowerCase(), 'wallet')
      },
    },
    {
      id: 'personhood.wallet-other-signer',
      title: 'a signature by another wallet binds nothing',
      needs: [personhood, challenge],
      isProjectDecision: true,
      run: async (world) => {
        const asked = await walletChallenge(world, await testAgent(world))
        const binding = await signChallenge(newWallet(), asked)
        const body = { memberId: uniqueText('member'), ...binding, wallet: newWallet().address }
        expectRefusal(await requestPersonhood(world, body), 400, 'wallet_signature_invalid')
      },
    },
    {
      id: 'personhood.wallet-other-message',
      title: 'a signature over another text binds nothing',
      needs: [personhood, challenge],
      isProjectDecision: true,
      run: async (world) => {
        const asked = await walletChallenge(world, await testAgent(world))
        const binding = await signChallenge(newWallet(), asked, `${asked.message} `)
        expectRefusal(
          await requestPersonhood(world, { memberId: uniqueText('member'), ...binding }),
          400,
          'wallet_signature_invalid',
        )
      },
    },
    {
      id: 'personhood.wallet-nonce-once',
      title: 'a wallet challenge binds once',
      needs: [personhood, challenge],
      isProjectDecision: true,
      run: async (world) => {
        const { memberId, binding } = await bindWallet(world, await testAgent(world))
        expectRefusal(await requestPersonhood(world, { memberId, ...binding }), 409, 'nonce_used')
      },
    },
    {
      id: 'personhood.wallet-nonce-known',
      title: 'a wallet challenge that nobody issued binds nothing',
      needs: [personhood],
      isProjectDecision: true,
      run: async (world) => {
        const asked = { nonce: uniqueText('nonce'), message: 'anything' }
        const binding = await signChallenge(newWallet(), asked)
        expectRefusal(
          await requestPersonhood(world, { memberId: uniqueText('member'), ...binding }),
          400,
          'nonce_expired',
        )
      },
    },
    {
      id: 'personhood.wallet-nonce-own',
      title: "another agent's wallet challenge binds nothing",
      needs: [personhood, challenge],
      isProjectDecision: true,
      run: async (world) => {
        const asked = await walletChallenge(world, await otherAgent(world))
        const binding = await signChallenge(newWallet(), asked)
        expectRefusal(
          await requestPersonhood(world, { memberId: uniqueText('member'), ...binding }),
          400,
          'nonce_expired',
        )
      },
    },
    {
      id: 'personhood.wallet-fields-together',
      title: 'a wallet without its signature is refused, not silently left out',
      needs: [personhood],
      isProjectDecision: true,
      run: async (world) =>
        expectRefusal(
          await requestPersonhood(world, { memberId: uniqueText('member'), wallet: newWallet().address }),
          400,
        ),
    },
    {
      id: 'personhood.on-chain',
      title: 'a bound wallet also gets what a contract needs to answer isVerifiedHuman()',
      needs: [personhood, challenge, jwks],
      isProjectDecision: true,
      run: async (world) => {
        const { binding, minted } = await sharedWallet(world)
        const { protectedHeader, payload } = await openOnchain(world, minted)
        expectEqual(protectedHeader.typ ?? null, 'pohf-onchain+jwt', 'typ')
        expectEqual(textAt(payload, 'wallet'), binding.wallet.toLowerCase(), 'wallet')
        expectEqual(payload.exp ?? null, (await minted.claims()).exp ?? 0, 'exp')
        // It goes where everybody reads for ever.
        for (const name of ['sub', 'agent', 'device', 'quality']) expectAbsent(payload, name)
      },
    },
    {
      id: 'personhood.on-chain-test-marked',
      title: 'a contract that reads the first claims of a test token finds that it is one',
      needs: [personhood, challenge],
      isProjectDecision: true,
      run: async (world) => {
        const onchain = recordAt((await sharedWallet(world)).minted.answer.body, 'onchain')
        const text = Buffer.from(textAt(onchain, 'payload'), 'base64url').toString('utf8')
        expectThat(text.startsWith('{"test":true,"wallet":"0x'), 'test as the first claim', text)
      },
    },
    {
      id: 'personhood.on-chain-one-human',
      title: 'two wallets of one human carry the same code, and those of two humans do not',
      needs: [personhood, challenge, jwks],
      isProjectDecision: true,
      run: async (world) => {
        const agent = await testAgent(world)
        const memberId = uniqueText('member')
        const codeOf = async (whose: string) => {
          const asked = await walletChallenge(world, agent)
          const minted = await mintMember(world, agent, {
            memberId: whose,
            ...(await signChallenge(newWallet(), asked)),
          })
          return textAt((await openOnchain(world, minted)).payload, 'nul')
        }
        const code = await codeOf(memberId)
        expectEqual(await codeOf(memberId), code, 'nul')
        const other = await codeOf(uniqueText('member'))
        expectThat(other !== code, 'another code for another human', other)
      },
    },
  ],
}

export const walletChallenges: Section = {
  name: 'POST /api/agents/wallet/challenge',
  statements: [
    {
      id: 'wallet-challenge.answers',
      title: 'a call without fields answers a nonce and a message to sign',
      needs: [challenge],
      run: async (world) => {
        const { apiKey } = await testAgent(world)
        const answer = await world.http.post('/api/agents/wallet/challenge', undefined, { key: apiKey })
        expectStatus(answer, 200)
        textAt(answer.body, 'nonce')
        textAt(answer.body, 'message')
      },
    },
    {
      id: 'wallet-challenge.fresh',
      title: 'no nonce is given out twice',
      needs: [challenge],
      run: async (world) => {
        const agent = await testAgent(world)
        const [one, two] = [await walletChallenge(world, agent), await walletChallenge(world, agent)]
        expectThat(one.nonce !== two.nonce, 'two nonces', one.nonce)
      },
    },
    {
      id: 'wallet-challenge.message-holds-nonce',
      title: 'the message to sign contains its nonce',
      needs: [challenge],
      isProjectDecision: true,
      run: async (world) => {
        const { nonce, message } = await walletChallenge(world, await testAgent(world))
        expectThat(message.includes(nonce), 'the nonce in the message', message)
      },
    },
    {
      id: 'wallet-challenge.siwe',
      title: 'for a named wallet the message is one that wallets know how to show (EIP-4361)',
      needs: [challenge],
      isProjectDecision: true,
      run: async (world) => {
        const { apiKey } = await testAgent(world)
        const wallet = newWallet().address
        const answer = await world.http.post('/api/agents/wallet/challenge', { wallet }, { key: apiKey })
        expectStatus(answer, 200)
        const message = textAt(answer.body, 'message')
        const opening = /^\S+ wants you to sign in with your Ethereum account:\n(0x[0-9a-fA-F]{40})\n/.exec(
          message,
        )
        expectEqual(opening?.[1], wallet, 'the wallet below the opening line:')
      },
    },
  ],
}
