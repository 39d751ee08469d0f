import { pathToFileURL } from 'node:url'
import { resolve } from 'node:path'
import type { Bot } from './bot.ts'
import { browserBots } from './browser-bots.ts'
import { leanScript } from './lean-script.ts'
import { protocolBot } from './protocol-bot.ts'

/** Every bot that ships with the arena, by the name of its family, the cheapest first. */
export const bots: ReadonlyMap<string, Bot> = new Map<string, Bot>([
  ['lean_script', leanScript],
  ['protocol_bot', protocolBot],
  ...browserBots,
])

const withBrowser = new Set(browserBots.map(([name]) => name))

/** Whether a bot of the arena drives a browser: a few of those fill a machine. */
export const needsBrowser = (name: string): boolean => withBrowser.has(name)

/** Loads a bot from a file that exports it as `bot`. */
export const loadBot = async (file: string): Promise<Bot> => {
  const loaded: unknown = await import(pathToFileURL(resolve(file)).href)
  const bot = (loaded as { readonly bot?: unknown }).bot
  if (typeof bot !== 'function') throw new Error(`${file} exports no function named bot`)
  return bot as Bot
}

export { closeBrowser, launchBrowser } from './browser-bots.ts'
