// Families that play a session for a view. What they reach rests on nothing but the network that they come from.
import type { Bot } from '../bots/bot.ts'
import { bots } from '../bots/index.ts'
import type { Target } from '../protocol/client.ts'
import type { Attempt, PlayedFamily } from './family.ts'
import { askSite, outcomeOf, verifySession } from './mint.ts'

const botOf = (name: string): Bot => {
  const bot = bots.get(name)
  if (!bot) throw new Error(`the arena has no bot ${name}`)
  return bot
}

/** Plays one session of a bot on the site, or on the page that `target` names; gives its id. */
export const playBot = async (
  name: string,
  { server, site, address, random, signal }: Attempt,
  target: Partial<Target> = {},
): Promise<string> => {
  const { sessionId } = await botOf(name)({
    target: { baseUrl: server.url, site: site.agentId, forwardedFor: address, ...target },
    pageUrl: undefined,
    library: [],
    random,
    signal,
  })
  return sessionId
}

const viewFamily = (name: PlayedFamily['name'], hasBrowser: boolean): PlayedFamily => ({
  name,
  kind: 'view',
  manyNetworks: false,
  hasBrowser,
  fixed: [],
  aim: undefined,
  play: async (attempt) => [await verifySession(attempt, await playBot(name, attempt))],
})

/** One session, and a payment that the script names. */
const leanBinding: PlayedFamily = {
  name: 'lean_script',
  kind: 'binding',
  manyNetworks: false,
  hasBrowser: false,
  fixed: [],
  aim: undefined,
  play: async (attempt) => {
    const sessionId = await playBot('lean_script', attempt)
    const paymentRef = `invoice ${sessionId}`
    return [outcomeOf(await askSite(attempt, 'bind-transaction', { paymentRef, sessionId }))]
  },
}

/** The leanest script, from another network each time. */
const proxyPool: PlayedFamily = {
  ...viewFamily('lean_script', false),
  name: 'proxy_pool',
  manyNetworks: true,
}

export const sessionFamilies: readonly PlayedFamily[] = [
  viewFamily('lean_script', false),
  leanBinding,
  viewFamily('protocol_bot', false),
  viewFamily('os_input', true),
  viewFamily('stealth_browser', true),
  proxyPool,
]
