import { checkClickHouse, type Config } from '@pohf/server/doctor'
import { messageOf } from '../../command/errors.ts'
import { ok, problem, warning, type Finding } from './finding.ts'

/** Whether ClickHouse answers and has its tables; without CLICKHOUSE_URL, whether nothing was left for it. */
export const checkAttention = async (config: Config, waiting: number): Promise<Finding[]> => {
  if (config.CLICKHOUSE_URL === undefined)
    return waiting === 0
      ? []
      : [
          warning(
            'clickhouse',
            `${waiting} entries wait for ClickHouse, and CLICKHOUSE_URL is not set`,
            'Set CLICKHOUSE_URL for the worker until they are delivered: docs/operate/clickhouse.md',
          ),
        ]
  const missing = await checkClickHouse(config.CLICKHOUSE_URL).catch((error: unknown) => messageOf(error))
  if (typeof missing === 'string')
    return [
      problem(
        'clickhouse',
        `ClickHouse does not answer: ${missing || 'connection refused'}`,
        'Start it, or correct CLICKHOUSE_URL: host, port, user and password. Until then beacons wait in PostgreSQL',
      ),
    ]
  return [
    missing.length === 0
      ? ok('clickhouse', 'connected, and it has all tables')
      : problem('clickhouse', `it lacks ${missing.join(', ')}`, 'Run pohf attention schema --apply'),
  ]
}
