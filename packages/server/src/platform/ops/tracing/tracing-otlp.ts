// The only file that loads OpenTelemetry, and it is loaded only while tracing is on: 9 packages, measured in
// docs/operate/observability.md. The exporter reads the standard variables OTEL_EXPORTER_OTLP_* itself.
import { ROOT_CONTEXT, SpanKind, SpanStatusCode, TraceFlags, trace } from '@opentelemetry/api'
import type { SpanContext } from '@opentelemetry/api'
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-http'
import { resourceFromAttributes } from '@opentelemetry/resources'
import {
  AlwaysOffSampler,
  AlwaysOnSampler,
  BatchSpanProcessor,
  ParentBasedSampler,
  TraceIdRatioBasedSampler,
  TracerProvider,
  type Sampler,
} from '@opentelemetry/sdk-trace'
import type { SamplerName, Span, Tracer } from './spans.ts'

type TracerOptions = {
  readonly serviceName: string
  readonly sampler: SamplerName
  readonly ratio: number
}

/** A request has few spans, and a batch of verify holds 128 requests. Further attributes and links are dropped. */
const spanLimits = { attributeValueLengthLimit: 128, attributeCountLimit: 16, linkCountLimit: 128 }
/** While the collector is away, older spans are kept and newer ones dropped: 2,048 spans are about 2 MB. */
const queueMax = 2_048
const sendEveryMs = 1_000
/** How long a process that stops waits until its last spans are sent. */
const stopWithinMs = 1_000

const kinds = { server: SpanKind.SERVER, client: SpanKind.CLIENT, internal: SpanKind.INTERNAL }

const samplerOf = (name: SamplerName, ratio: number): Sampler => {
  if (name.startsWith('parentbased_'))
    return new ParentBasedSampler({ root: samplerOf(name.slice(12) as SamplerName, ratio) })
  if (name === 'traceidratio') return new TraceIdRatioBasedSampler(ratio)
  return name === 'always_off' ? new AlwaysOffSampler() : new AlwaysOnSampler()
}

const spanContextOf = (traceparent: string): SpanContext => {
  const [, traceId = '', spanId = ''] = traceparent.split('-')
  return { traceId, spanId, traceFlags: TraceFlags.SAMPLED, isRemote: true }
}

/** Counts spans that were not delivered: a collector that is away is no reason to log every second. */
class CountingExporter extends OTLPTraceExporter {
  lost = 0
  override export(...[spans, done]: Parameters<OTLPTraceExporter['export']>): void {
    super.export(spans, (result) => {
      if (result.error !== undefined) this.lost += spans.length
      done(result)
    })
  }
}

export const makeTracer = ({ serviceName, sampler, ratio }: TracerOptions): Tracer => {
  const exporter = new CountingExporter()
  const processor = new BatchSpanProcessor({
    exporter,
    maxQueueSize: queueMax,
    scheduledDelayMillis: sendEveryMs,
  })
  const provider = new TracerProvider({
    resource: resourceFromAttributes({ 'service.name': serviceName }),
    sampler: samplerOf(sampler, ratio),
    spanLimits,
    spanProcessors: [processor],
  })
  const tracer = provider.getTracer('pohf')
  return {
    start: (name, { kind = 'internal', attributes = {}, parent, links = [] }): Span | undefined => {
      const context =
        parent === undefined ? ROOT_CONTEXT : trace.setSpanContext(ROOT_CONTEXT, spanContextOf(parent))
      const span = tracer.startSpan(
        name,
        { kind: kinds[kind], attributes, links: links.map((one) => ({ context: spanContextOf(one) })) },
        context,
      )
      if (!span.isRecording()) return undefined
      const { traceId, spanId } = span.spanContext()
      return {
        name,
        traceId,
        traceparent: `00-${traceId}-${spanId}-01`,
        set: (more) => void span.setAttributes(more),
        link: (other) => void span.addLink({ context: spanContextOf(other) }),
        end: (errorType) => {
          if (errorType !== undefined)
            span.setAttribute('error.type', errorType).setStatus({ code: SpanStatusCode.ERROR })
          span.end()
        },
      }
    },
    countLost: () => exporter.lost,
    stop: async () => {
      const late = new Promise<void>((resolve) => setTimeout(resolve, stopWithinMs).unref())
      // A collector that fails or does not answer must not fail the stop.
      await Promise.race([provider.shutdown().catch(() => undefined), late])
    },
  }
}
