import { isFree } from './free-ports.ts'

/** The listeners of `npm run dev`, each at PORT and its place in this list. */
const listeners = [
  'API',
  'operators',
  'sample site',
  'mails',
  'SMTP',
  'card simulator',
  'chain',
  'PostgreSQL',
] as const
export type Listener = (typeof listeners)[number]

/** How many ports one start uses. */
export const portsCount = listeners.length

/** The port of each listener; the operators' listener has a setting of its own. */
export const portsOf = (config: {
  readonly PORT: number
  readonly OPERATOR_PORT: number
}): ((listener: Listener) => number) => {
  const last = config.PORT + portsCount - 1
  if (last > 65_535)
    throw new Error(
      `PORT is too high: npm run dev uses ${portsCount} ports from it on. Set PORT to 65000 or less.`,
    )
  return (listener) =>
    listener === 'operators' ? config.OPERATOR_PORT : config.PORT + listeners.indexOf(listener)
}

/** Refuses to start where another program has one of the ports: all of them are named at once, before anything starts. */
export const requirePorts = async (
  portOf: (listener: Listener) => number,
  wanted: readonly Listener[],
): Promise<void> => {
  const checked = await Promise.all(
    wanted.map(async (listener) => ({
      listener,
      port: portOf(listener),
      free: await isFree(portOf(listener)),
    })),
  )
  const taken = checked.filter(({ free }) => !free)
  if (taken.length === 0) return
  const names = taken.map(({ listener, port }) => `${port} (${listener})`).join(', ')
  const next = portOf('API') + 100
  throw new Error(
    `another program uses port ${names}.\nFix: stop it (ss -ltnp 'sport = :${taken[0]?.port}' names it), or use other ports: PORT=${next > 65_000 ? 3_000 : next} npm run dev`,
  )
}
