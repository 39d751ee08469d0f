import { AsyncLocalStorage } from 'node:async_hooks'
import { Refusal, statusOf } from '../http/errors.ts'
import type { SamplerName, Span, SpanAttributes, SpanOptions, Tracer } from './tracing/spans.ts'

const traceparentPattern = /^00-[0-9a-f]{32}-[0-9a-f]{16}-01$/
/** Whether another process or a row names a span that is recorded. */
const isTraceparent = (value: unknown): value is string =>
  typeof value === 'string' && traceparentPattern.test(value)

// One tracer for each process, as it has one standard output. While tracing is off, each function below is one comparison.
let tracer: Tracer | undefined
const active = new AsyncLocalStorage<Span | undefined>()

type TracingSettings = {
  readonly OTEL_EXPORTER_OTLP_ENDPOINT?: string | undefined
  readonly OTEL_EXPORTER_OTLP_TRACES_ENDPOINT?: string | undefined
  readonly OTEL_SDK_DISABLED: 'true' | 'false'
  readonly OTEL_SERVICE_NAME?: string | undefined
  readonly OTEL_TRACES_SAMPLER: SamplerName
  readonly OTEL_TRACES_SAMPLER_ARG: number
}

/** Loads the SDK and begins to trace, if an address of a collector is set. `role` is the default name of the service. */
export const startTracing = async (settings: TracingSettings, role: string): Promise<void> => {
  const endpoint = settings.OTEL_EXPORTER_OTLP_TRACES_ENDPOINT ?? settings.OTEL_EXPORTER_OTLP_ENDPOINT
  if (endpoint === undefined || settings.OTEL_SDK_DISABLED === 'true') return
  const { makeTracer } = await import('./tracing/tracing-otlp.ts')
  tracer = makeTracer({
    serviceName: settings.OTEL_SERVICE_NAME ?? role,
    sampler: settings.OTEL_TRACES_SAMPLER,
    ratio: settings.OTEL_TRACES_SAMPLER_ARG,
  })
}

/** How many spans of this process were lost. */
export const countLostSpans = (): number => tracer?.countLost() ?? 0

/** Sends what is left. A collector that does not answer delays a stop by a second at most. */
export const stopTracing = async (): Promise<void> => {
  await tracer?.stop()
  tracer = undefined
}

export const currentSpan = (): Span | undefined => (tracer ? active.getStore() : undefined)
/** The traceparent to pass on, in a request to another process of ours or in a row for the worker. */
export const currentTrace = (): string | undefined => currentSpan()?.traceparent

/** The field of every log line that is written while a span is active. */
export const traceLogFields = (): { readonly traceId?: string } => {
  const span = currentSpan()
  return span ? { traceId: span.traceId } : {}
}

/** Runs work, synchronous or not, within a span, and ends it. Of an error only a code is kept: its text may quote a row. */
const runAndEnd = <T>(span: Span, work: (span: Span) => T): T => {
  const fail = (error: unknown): never => {
    if (error instanceof Refusal && statusOf(error) < 500) {
      span.set({ 'error.type': error.code })
      span.end()
    } else span.end(error instanceof Refusal ? error.code : 'internal')
    throw error
  }
  try {
    const result = active.run(span, () => work(span))
    if (result instanceof Promise)
      return result.then((value: unknown) => (span.end(), value), fail) as unknown as T
    span.end()
    return result
  } catch (error) {
    return fail(error)
  }
}

/** Begins the span of a request, which begins a trace. A traceparent that the client sends is ignored. */
export const startRequestSpan = (name: string, attributes: SpanAttributes): Span | undefined =>
  tracer?.start(name, { kind: 'server', attributes })

/** Runs work within a span that somebody else ends. */
export const withinSpan = <T>(span: Span | undefined, work: () => T): T =>
  span ? active.run(span, work) : work()

/** Runs work that belongs to no trace, wherever it was begun. */
export const withoutSpan = <T>(work: () => T): T => active.run(undefined, work)

/** Runs work in a span below the present one; without one, there is no span: only a request begins a trace. */
export const inSpan = <T>(name: string, options: SpanOptions, work: (span: Span | undefined) => T): T => {
  const parent = currentTrace()
  const span = parent === undefined ? undefined : tracer?.start(name, { ...options, parent })
  return span ? runAndEnd(span, work) : work(undefined)
}

/**
 * Runs work that other spans caused, of this process or another: below the first and with links to the rest. A cause that
 * is no trace is left out; without any, there is no span.
 */
export const inCausedSpan = <T>(
  name: string,
  { causes, ...options }: SpanOptions & { readonly causes: readonly unknown[] },
  work: (span: Span | undefined) => T,
): T => {
  if (!tracer) return work(undefined)
  const [parent, ...links] = new Set(causes.filter(isTraceparent))
  const span = parent === undefined ? undefined : tracer.start(name, { ...options, parent, links })
  // Not within the span of another batch, which may have started this one.
  return span ? runAndEnd(span, work) : active.run(undefined, () => work(undefined))
}
