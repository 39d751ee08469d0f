import { Counter, Gauge, Histogram, Registry, collectDefaultMetrics } from 'prom-client'
import { countDroppedLines } from './log.ts'
import { countLostSpans } from './tracing.ts'

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

/** The delivery to ClickHouse. */
const makeAttentionMetrics = (registry: Registry) => ({
  attentionLag: new Gauge({
    name: 'pohf_attention_lag_seconds',
    help: 'Age in seconds of the oldest beacon or conversion that ClickHouse has not acknowledged, read from the database. 0: none waits, as always without CLICKHOUSE_URL.',
    registers: [registry],
  }),
  attentionSpool: new Gauge({
    name: 'pohf_attention_spool_entries',
    help: 'Entries that wait for ClickHouse, at most, read from the database. At CLICKHOUSE_SPOOL_ENTRIES beacons and conversions are refused.',
    registers: [registry],
  }),
})

/** What every process counts about its own output. */
const makeOutputMetrics = (registry: Registry) => ({
  droppedLines: new Counter({
    name: 'pohf_log_lines_dropped_total',
    help: 'Log lines that this process could not write, such as to a full disk.',
    registers: [registry],
    collect() {
      this.reset()
      this.inc(countDroppedLines())
    },
  }),
  lostSpans: new Counter({
    name: 'pohf_trace_spans_lost_total',
    help: 'Spans that the collector did not take. 0 while traces are off.',
    registers: [registry],
    collect() {
      this.reset()
      this.inc(countLostSpans())
    },
  }),
})

/** What every process tells about TLS between api, worker and signer. */
const makeTlsMetrics = (registry: Registry) => ({
  certificateEnds: new Gauge({
    name: 'pohf_tls_certificate_end_timestamp_seconds',
    help: 'When the first certificate of a file that this process loaded for TLS between api, worker and signer expires, in Unix time, by file: certificate or authority. No value without TLS.',
    labelNames: ['file'],
    registers: [registry],
  }),
})

/** What the service level objectives and the alerts are about, besides requests. */
const makeServiceMetrics = (registry: Registry) => ({
  ready: new Gauge({
    name: 'pohf_ready',
    help: '1 where a check of /readyz passes, 0 where it fails, by check: database, signer, restore or verify. Of the api.',
    labelNames: ['check'],
    registers: [registry],
  }),
  restorePending: new Gauge({
    name: 'pohf_restore_pending',
    help: '1 while the database is from the past and minting is stopped, else 0.',
    registers: [registry],
  }),
  revocationPending: new Gauge({
    name: 'pohf_revocation_pending_seconds',
    help: 'Seconds since the oldest change of a credential state that no published status list shows, read from the database. 0: none waits.',
    registers: [registry],
  }),
  webhookWait: new Histogram({
    name: 'pohf_webhook_wait_seconds',
    help: 'Seconds from an event to the first attempt to deliver it to a healthy receiver. Counted in the worker.',
    buckets: [0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300],
    registers: [registry],
  }),
  jobSuccess: new Gauge({
    name: 'pohf_job_success_timestamp_seconds',
    help: 'When a background job last ended without an error, by name, in Unix time; until then, when the worker started. A run that a pending restore stops does not count. Set in the worker.',
    labelNames: ['name'],
    registers: [registry],
  }),
  jobFailures: new Counter({
    name: 'pohf_job_failures_total',
    help: 'Runs of background jobs that failed, by name. Counted in the worker.',
    labelNames: ['name'],
    registers: [registry],
  }),
})

/** What the api reads from the signers over their sockets: a signer without a network serves no metrics. */
const makeSignerFigures = (registry: Registry) => ({
  journalFree: new Gauge({
    name: 'pohf_journal_disk_free_bytes',
    help: 'Free bytes on the disk of the journal of each signer that answers. A signer that cannot write its journal signs nothing. Of the api.',
    labelNames: ['signer'],
    registers: [registry],
  }),
  journalDisk: new Gauge({
    name: 'pohf_journal_disk_bytes',
    help: 'Size in bytes of the disk of the journal of each signer that answers. Of the api.',
    labelNames: ['signer'],
    registers: [registry],
  }),
  keyLeft: new Gauge({
    name: 'pohf_signing_key_seconds_left',
    help: 'Seconds until the last key of a purpose that signs or is about to ends, by purpose and signer. Of the api.',
    labelNames: ['signer', 'purpose'],
    registers: [registry],
  }),
})

/** All metrics of an api or a worker for Prometheus, in a registry of their own so that tests do not share one. */
export const makeMetrics = () => {
  const registry = new Registry()
  collectDefaultMetrics({ register: registry })
  return {
    registry,
    requests: new Histogram({
      name: 'pohf_http_request_seconds',
      help: 'Seconds to answer a request, by public id of the endpoint and status. A refusal of siteverify, which is sent as 200, has the status of its error.',
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
    unloggedRequests: new Counter({
      name: 'pohf_requests_unlogged_total',
      help: 'Requests that the list of requests of an agent lacks: too many waited, or the database did not take them. Counted in the api.',
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
      help: 'Webhook delivery attempts, by outcome. Counted in the worker.',
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
      help: 'Balance of each gas account in gwei. Set in the worker.',
      labelNames: ['address'],
      registers: [registry],
    }),
    ...makeDatabaseMetrics(registry),
    outboxAge: new Gauge({
      name: 'pohf_outbox_oldest_seconds',
      help: 'Age in seconds of the oldest of the 1,000 rows in the outbox that are due first, by topic, read from the database. Without SMTP_URL there is none for mails.',
      labelNames: ['topic'],
      registers: [registry],
    }),
    ...makeServiceMetrics(registry),
    ...makeAttentionMetrics(registry),
    ...makeTlsMetrics(registry),
    ...makeSignerFigures(registry),
    ...makeOutputMetrics(registry),
  }
}

/** The metrics of a signer. */
export const makeSignerMetrics = () => {
  const registry = new Registry()
  collectDefaultMetrics({ register: registry })
  return {
    registry,
    signatures: new Counter({
      name: 'pohf_signatures_total',
      help: 'Signatures that this signer made.',
      registers: [registry],
    }),
    signSeconds: new Histogram({
      name: 'pohf_sign_seconds',
      help: 'Seconds to journal and sign a batch, by outcome: signed or failed.',
      labelNames: ['outcome'],
      buckets: [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 5],
      registers: [registry],
    }),
    ...makeTlsMetrics(registry),
    ...makeOutputMetrics(registry),
  }
}
