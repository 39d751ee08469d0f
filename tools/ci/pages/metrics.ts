import { makeMetrics } from '../../../packages/server/src/platform/ops/metrics.ts'
import { generatedNote, tableOf, type GeneratedFile } from './markdown.ts'

const rows = (): string[][] =>
  makeMetrics()
    .registry.getMetricsAsArray()
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

const metricsPage = (): string => `${generatedNote}

# Metrics

The operators' listener serves \`/metrics\` in the Prometheus text format. It needs no key, so keep the port private. Each
api process reports its own figures; the values that are read from the database are the same in all of them.

${tableOf(['Metric', 'Type', 'Labels', 'Meaning'], rows())}

The library \`prom-client\` adds \`process_*\` and \`nodejs_*\`: memory, CPU, event loop and garbage collection of the api
process.
`

export const metricFiles = (): GeneratedFile[] => [['docs/reference/metrics.md', metricsPage()]]
