import { makeMetrics, makeSignerMetrics } from '../../../packages/server/src/platform/ops/metrics.ts'
import { generatedNote, tableOf, type GeneratedFile } from './markdown.ts'

const rowsOf = ({ registry }: Pick<ReturnType<typeof makeMetrics>, 'registry'>): string[][] =>
  registry
    .getMetricsAsArray()
    .filter(({ name }) => name.startsWith('pohf_'))
    .toSorted((a, b) => (a.name < b.name ? -1 : 1))
    .map((metric) => {
      const labels = 'labelNames' in metric && Array.isArray(metric.labelNames) ? metric.labelNames : []
      return [
        `\`${metric.name}\``,
        String(metric.type),
        labels.map((label) => `\`${label}\``).join(', '),
        metric.help,
      ]
    })

const headings = ['Metric', 'Type', 'Labels', 'Meaning']

const metricsPage = (): string => `${generatedNote}

# Metrics

Each process serves its own metrics in the Prometheus text format at \`/metrics\`, on a listener of its own at
\`METRICS_HOST\` and \`METRICS_PORT\`. The operators' listener serves those of the api, too. Neither needs a key, so keep the
ports private. Values that are read from the database are the same in every api and worker. Service level objectives,
alerts and the dashboard are in [observability](../operate/observability.md).

## Api and worker

${tableOf(headings, rowsOf(makeMetrics()))}

## Signer

${tableOf(headings, rowsOf(makeSignerMetrics()))}

The library \`prom-client\` adds \`process_*\` and \`nodejs_*\` to each process: memory, CPU, event loop and garbage
collection.
`

export const metricFiles = (): GeneratedFile[] => [['docs/reference/metrics.md', metricsPage()]]
