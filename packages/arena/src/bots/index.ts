import { pathToFileURL } from 'node:url'
import { resolve } from 'node:path'
import type { Bot } from './bot.ts'
import { protocolBot, protocolBotAlternative } from './protocol-bot.ts'

/** Every bot that ships with the arena, by the name of its family, the strongest first. */
export const bots: ReadonlyMap<string, Bot> = new Map<string, Bot>([
  ['protocol_bot', protocolBot],
  ['protocol_bot_alternative', protocolBotAlternative],
])

/** Loads a bot from a file that exports it as `bot`. */
export const loadBot = async (file: string): Promise<Bot> => {
  const loaded: unknown = await import(pathToFileURL(resolve(file)).href)
  const bot = (loaded as { readonly bot?: unknown }).bot
  if (typeof bot !== 'function') throw new Error(`${file} exports no function named bot`)
  return bot as Bot
}
