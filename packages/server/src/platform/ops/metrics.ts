import { Counter, Gauge, Histogram, Registry, collectDefaultMetrics } from 'prom-client'
import { countDroppedLines } from './log.ts'

export type Metrics = ReturnType<typeof makeMetrics>

const makeDatabaseMetrics = (registry: Registry) => ({
  statementDeadlines: new Counter({
    name: 'pohf_database_deadlines_total',
    help: 'Statements that got no answer of the database in time. Their connections were closed.',
    registers: [registry],
  }),
  poolRebuilds: new Counter({
    name: 'pohf_database_pool_rebuilds_total',
    help: 'How often all database connections were replaced, because none had answered for as long as a statement may take.',
    registers: [registry],
  }),
})

/** The metrics of this process, in a registry of their own so that tests do not share one. */
export const makeMetrics = () => {
  const registry = new Registry()
  collectDefaultMetrics({ register: registry })
  return {
    registry,
    requests: new Histogram({
      name: 'pohf_http_request_seconds',
      help: 'Seconds to answer a request, by public id of the endpoint and status.',
      labelNames: ['endpoint', 'status'],
      buckets: [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 10],
      registers: [registry],
    }),
    refusals: new Counter({
      name: 'pohf_refusals_total',
      help: 'Refused requests, by error code.',
      labelNames: ['code'],
      registers: [registry],
    }),
    beacons: new Counter({
      name: 'pohf_beacons_total',
      help: 'Beacons by outcome: stored, duplicate, limited, full, forged, expired or unknown.',
      labelNames: ['outcome'],
      registers: [registry],
    }),
    webhookAttempts: new Counter({
      name: 'pohf_webhook_attempts_total',
      help: 'Webhook delivery attempts, by outcome. Counted in the worker, which has no listener: /metrics shows none.',
      labelNames: ['outcome'],
      registers: [registry],
    }),
    ledgerDrift: new Gauge({
      name: 'pohf_ledger_drift',
      help: 'Open findings of the reconciler, read from the database. Each stops minting for its agent. Alert above 0.',
      registers: [registry],
    }),
    gasBalance: new Gauge({
      name: 'pohf_gas_balance_gwei',
      help: 'Balance of each gas account in gwei. Set in the worker, which has no listener: /metrics shows none.',
      labelNames: ['address'],
      registers: [registry],
    }),
    ...makeDatabaseMetrics(registry),
    outboxAge: new Gauge({
      name: 'pohf_outbox_oldest_seconds',
      help: 'Age in seconds of the oldest of the 1,000 rows in the outbox that are due first, by topic, read from the database.',
      labelNames: ['topic'],
      registers: [registry],
    }),
    droppedLines: new Counter({
      name: 'pohf_log_lines_dropped_total',
      help: 'Log lines that this process could not write, such as to a full disk.',
      registers: [registry],
      collect() {
        this.reset()
        this.inc(countDroppedLines())
      },
    }),
  }
}
