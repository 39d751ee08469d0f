import type { StrokeLibrary } from '../generators/types.ts'
import type { Target } from '../protocol/client.ts'
import type { Random } from '../random.ts'

/** The inputs of a bot for one session. */
export type BotContext = {
  readonly target: Target
  /** The address of a page with the check; only bots that drive a browser need it. */
  readonly pageUrl: string | undefined
  /** Human strokes that the attacker owns; empty where none were given. */
  readonly library: StrokeLibrary
  readonly random: Random
  /** Fires when the session takes too long. */
  readonly signal: AbortSignal
}

export type BotOutcome = {
  readonly sessionId: string
  /** As the server named it at the end; `abandoned` where the bot gave up. */
  readonly status: string
  /** Probes that were shown, and those to which the bot gave an answer. */
  readonly probes: number
  readonly answered: number
}

/** Plays one session. A file given to `pohf attack` exports one of these as `bot`. */
export type Bot = (context: BotContext) => Promise<BotOutcome>
