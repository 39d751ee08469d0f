import { z } from 'zod'
import { host, port } from './setting-fields.ts'
import { samplerNames } from './tracing/spans.ts'

const collectorUrl = (description: string) =>
  z
    .url({ protocol: /^https?$/ })
    .max(2_000)
    .optional()
    .meta({ description })

/** Metrics and traces. Every process reads these, the signer too. Names that begin with OTEL_ are those of OpenTelemetry. */
export const observabilitySettings = {
  METRICS_HOST: host(
    'Address of the metrics listeners. They need no key and serve nothing but /metrics: keep them private.',
  ),
  METRICS_PORT: port(
    'Port of the metrics listener of a process. Without it, worker and signer have no listener, and the operators’ listener serves the metrics of the api. npm start gives this port to the api, the next to the worker and the one after to the signer.',
  ),
  OTEL_EXPORTER_OTLP_ENDPOINT: collectorUrl(
    'Base address of an OpenTelemetry collector, such as http://127.0.0.1:4318. Turns traces on: they are sent to /v1/traces there, as JSON over HTTP. Without it, no tracing code is loaded. See operate/observability.md.',
  ),
  OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: collectorUrl(
    'Full address for traces, in place of OTEL_EXPORTER_OTLP_ENDPOINT.',
  ),
  OTEL_SDK_DISABLED: z
    .enum(['true', 'false'])
    .default('false')
    .meta({ description: 'true: traces are off, whatever else is set.' }),
  OTEL_SERVICE_NAME: z.string().min(1).max(100).optional().meta({
    description: 'Name of the service in traces. Default: pohf-api, pohf-worker or pohf-signer.',
  }),
  OTEL_TRACES_SAMPLER: z.enum(samplerNames).default('parentbased_always_on').meta({
    description: 'Which traces are recorded. A trace begins with a request to the api.',
  }),
  OTEL_TRACES_SAMPLER_ARG: z
    .string()
    .regex(/^(0(\.\d{1,9})?|1(\.0{1,9})?)$/, 'must be a number from 0 to 1')
    .default('1')
    .transform(Number)
    .meta({ description: 'Share of traces that the samplers with traceidratio in their names record.' }),
}
