import { Option, type Command } from 'commander'
import { addLocal } from '../command/options.ts'

const load = () => import('./attention.ts')

/** Adds `pohf attention`: ClickHouse as the engine of beacons and conversions. */
export const addAttention = (program: Command): void => {
  const attention = program
    .command('attention')
    .description('ClickHouse for beacons and conversions: tables, checks and copies')
  addLocal(
    attention,
    'schema',
    'print the statements that make the tables',
    'attention schema',
    'attention schema --cluster main',
  )
    .option(
      '--cluster <name>',
      'replicated tables on each shard of this cluster, and distributed ones over them',
    )
    .option('--apply', 'run them at CLICKHOUSE_URL; safe to repeat')
    .action(async (options) => (await load()).schema(options))
  addLocal(
    attention,
    'inspect',
    'compare the rows of each batch and the figures by the hour with what was sent; exit code 1: they differ',
    'attention inspect',
  )
    .option('--batches <number>', 'how many batches to compare, the newest', '1000')
    .action(async (options) => (await load()).compareStored(options))
  addLocal(
    attention,
    'rebuild',
    'count figures by the hour again from the rows',
    'attention rebuild',
    'attention rebuild --months 202611',
  )
    .option('--months <months...>', 'these months; default: those that differ')
    .action(async (options) => (await load()).rebuild(options))
  addLocal(
    attention,
    'backfill',
    'copy what one database has to the other, from where an earlier run ended',
    'attention backfill',
    'attention backfill --to postgresql',
  )
    .addOption(
      new Option('--to <engine>', 'where to').choices(['clickhouse', 'postgresql']).default('clickhouse'),
    )
    .action(async (options) => (await load()).backfill(options))
  addLocal(
    attention,
    'erase <agentId>',
    'delete the rows of an agent, or of one of its views, from ClickHouse',
    'attention erase agt_aa01hzy --session ses_1',
  )
    .option('--session <sessionId>', 'only this view; its figures by the hour stay')
    .action(async (agentId: string, options) => (await load()).erase(agentId, options))
}
