import { Counter, Gauge, Histogram, Registry, collectDefaultMetrics } from 'prom-client'

export type Metrics = ReturnType<typeof makeMetrics>

/** The metrics of this process, in a registry of their own so that tests do not share one. */
export const makeMetrics = () => {
  const registry = new Registry()
  collectDefaultMetrics({ register: registry })
  return {
    registry,
    requests: new Histogram({
      name: 'pohf_http_request_seconds',
      help: 'Time to answer, by endpoint and status.',
      labelNames: ['endpoint', 'status'],
      buckets: [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 10],
      registers: [registry],
    }),
    refusals: new Counter({
      name: 'pohf_refusals_total',
      help: 'Refusals by code.',
      labelNames: ['code'],
      registers: [registry],
    }),
    beacons: new Counter({
      name: 'pohf_beacons_total',
      help: 'Beacons by what became of them: stored, duplicate, limited, full, forged, expired, unknown.',
      labelNames: ['outcome'],
      registers: [registry],
    }),
    webhookAttempts: new Counter({
      name: 'pohf_webhook_attempts_total',
      help: 'Webhook attempts, by outcome.',
      labelNames: ['outcome'],
      registers: [registry],
    }),
    ledgerDrift: new Gauge({
      name: 'pohf_ledger_drift',
      help: 'Findings of the reconciler that are open: each stops minting for its agent. More than 0 is an alarm.',
      registers: [registry],
    }),
    gasBalance: new Gauge({
      name: 'pohf_gas_balance_gwei',
      help: 'What each gas account holds, as the worker last saw it. One that is nearly empty is not used any more.',
      labelNames: ['address'],
      registers: [registry],
    }),
    outboxAge: new Gauge({
      name: 'pohf_outbox_oldest_seconds',
      help: 'Age of the oldest waiting outbox row, by topic, read from the database.',
      labelNames: ['topic'],
      registers: [registry],
    }),
  }
}
