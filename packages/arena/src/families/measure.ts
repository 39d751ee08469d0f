// Plays every family against a server of its own and says what each got and needed.
import type { RootClaim } from '@pohf/protocol'
import {
  startAttackedServer,
  type AttackedServer,
} from '../../../server/test/fixtures/processes/attacked-server.ts'
import { closeBrowser } from '../bots/index.ts'
import { missingForPerson } from '../browser/person.ts'
import { createRandom } from '../random.ts'
import { deviceFamilies } from './devices.ts'
import { enrolmentFamilies } from './enrolment.ts'
import { ipv4Network } from './day.ts'
import type { Attempt, FamilyName, MeasuredFamily, Outcome, PlayedFamily, Site } from './family.ts'
import { ownerFamilies } from './owners.ts'
import { sessionFamilies } from './sessions.ts'

export type MeasureOptions = {
  /** How often each family is played for each kind; default 5. */
  readonly attempts?: number | undefined
  /** The same for families that drive a browser; default 2. */
  readonly browserAttempts?: number | undefined
  /** Default: all. */
  readonly families?: readonly FamilyName[] | undefined
  /** Hears what became of each family. */
  readonly log?: ((line: string) => void) | undefined
}

/** What one site gets from one address in an hour: half of its budget of 30. More would measure the budget. */
const attemptsMax = 15
const attemptMsMax = 180_000

const played: readonly PlayedFamily[] = [
  ...sessionFamilies,
  ...enrolmentFamilies,
  ...deviceFamilies,
  ...ownerFamilies,
]

/** What families that drive a browser lack: programs of this machine, or the scripts and pages that the build makes. */
const missingForBrowsers = async ({ call }: AttackedServer): Promise<string[]> => {
  const isBuilt = (await call('GET', '/check.js')).status === 200
  return [...missingForPerson(), ...(isBuilt ? [] : ['the output of npm run build'])]
}

const playOnce = async ({ play }: PlayedFamily, attempt: Attempt): Promise<readonly Outcome[]> => {
  try {
    return await play(attempt)
  } catch (error) {
    return [{ refused: error instanceof Error ? error.message.slice(0, 200) : String(error) }]
  }
}

type Costs = Pick<MeasuredFamily, 'wallSeconds' | 'cpuSeconds' | 'bytes'>

/** All attempts of scripts at once, for they wait most of the time; browsers one after the other. */
const playAll = async (
  server: AttackedServer,
  family: PlayedFamily,
  { site, network, attempts }: { readonly site: Site; readonly network: number; readonly attempts: number },
): Promise<{ outcomes: readonly Outcome[]; costs: Costs }> => {
  const [cpu, bytes] = [server.attackerCpu(), server.bytes()]
  let wallMs = 0
  const attempt = async (index: number) => {
    const startedAt = performance.now()
    const outcomes = await playOnce(family, {
      server,
      site,
      address: ipv4Network(network + (family.manyNetworks ? index : 0)).addressAt(0),
      random: createRandom(index + 1),
      signal: AbortSignal.timeout(attemptMsMax),
    })
    wallMs += performance.now() - startedAt
    return outcomes
  }
  const indexes = Array.from({ length: attempts }, (_, index) => index)
  const outcomes: Outcome[] = []
  if (family.hasBrowser) for (const index of indexes) outcomes.push(...(await attempt(index)))
  else outcomes.push(...(await Promise.all(indexes.map(attempt))).flat())
  await closeBrowser()
  const each = (total: number) => total / outcomes.length
  return {
    outcomes,
    costs: {
      wallSeconds: each(wallMs) / 1_000,
      cpuSeconds: each(server.attackerCpu() - cpu) / 1_000_000,
      bytes: Math.round(each(server.bytes() - bytes)),
    },
  }
}

const rounded = (value: number): number => Math.round(value * 1_000) / 1_000

type Reached = Pick<Minted, 'roots' | 'assurance'>
type Minted = Exclude<Outcome, { readonly refused: string }>

/** One row for each root and assurance that was reached; one with a rate of 0 for the aim that was not, or where nothing was. */
export const rowsOf = (
  { name, kind, fixed, aim }: Pick<PlayedFamily, 'name' | 'kind' | 'fixed' | 'aim'>,
  outcomes: readonly Outcome[],
  costs: Costs,
): MeasuredFamily[] => {
  const minted = outcomes.flatMap((outcome) => ('refused' in outcome ? [] : [outcome]))
  const row = ({ roots, assurance }: Reached, count: number): MeasuredFamily => ({
    name,
    kind,
    root: roots[0],
    assurance,
    successRate: rounded(count / outcomes.length),
    wallSeconds: rounded(costs.wallSeconds),
    cpuSeconds: rounded(costs.cpuSeconds),
    bytes: costs.bytes,
    humanSeconds: 0,
    rootsSpent: [...new Set<RootClaim['kind']>(['network', ...roots])].map((spent) => ({
      kind: spent,
      acts: 1,
    })),
    fixed: [...fixed],
  })
  const groups = [
    ...Map.groupBy(minted, ({ roots, assurance }) => `${roots.join(' ')} ${assurance}`).values(),
  ]
  const rows = groups.flatMap((group) => (group[0] ? [row(group[0], group.length)] : []))
  if (aim && !rows.some(({ root }) => root === aim))
    rows.push(row({ roots: [aim], assurance: 'substantial' }, 0))
  return rows.length > 0 ? rows : [row({ roots: ['network'], assurance: 'low' }, 0)]
}

/** How many subjects the site saw in these credentials. */
const countSubjects = (outcomes: readonly Outcome[]): number =>
  new Set(outcomes.flatMap((outcome) => ('refused' in outcome ? [] : [outcome.subject]))).size

const told = (outcomes: readonly Outcome[]): string => {
  const groups = Map.groupBy(outcomes, (outcome) =>
    'refused' in outcome
      ? outcome.refused
      : `${outcome.assurance} by ${outcome.roots.join(' and ')}${outcome.onchain ? ' and on chain' : ''}`,
  )
  const counts = [...groups].map(([text, all]) => `${text} ${all.length}`)
  return `${counts.join(', ')}; ${countSubjects(outcomes)} subjects`
}

/** Plays the families, with a site of its own for each, and gives their rows. Everything stays on this machine. */
export const measureFamilies = async (options: MeasureOptions = {}): Promise<MeasuredFamily[]> => {
  const { attempts = 5, browserAttempts = 2, families, log = () => undefined } = options
  if (Math.max(attempts, browserAttempts) > attemptsMax)
    throw new Error(`at most ${attemptsMax} attempts for each family`)
  const server = await startAttackedServer()
  try {
    const missing = await missingForBrowsers(server)
    const rows: MeasuredFamily[] = []
    for (const [number, family] of played.entries()) {
      if (families && !families.includes(family.name)) continue
      if (family.hasBrowser && missing.length > 0) {
        log(`${family.name}, ${family.kind}: not played, missing: ${missing.join(', ')}`)
        continue
      }
      const network = number * attemptsMax
      const address = ipv4Network(network).addressAt(1)
      const { outcomes, costs } = await playAll(server, family, {
        site: await server.registerAgent({ name: `arena-${number}`, address }),
        network,
        attempts: family.hasBrowser ? browserAttempts : attempts,
      })
      rows.push(...rowsOf(family, outcomes, costs))
      log(`${family.name}, ${family.kind}: ${told(outcomes)}`)
    }
    return rows
  } finally {
    await closeBrowser()
    await server.stop()
  }
}
