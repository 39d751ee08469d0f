/**
 * The attributes that a span may have. None says anything about a person, an agent or an address: a collector may stand
 * outside of the deployment. The list is closed, and a test compares it with what a collector receives.
 */
export const spanAttributes = [
  'error.type',
  'http.request.method',
  'http.response.status_code',
  'pohf.attempt',
  'pohf.batch_size',
  'pohf.endpoint',
  'pohf.operation',
  'pohf.outcome',
  'pohf.request_id',
  'pohf.topic',
] as const
export type SpanAttributes = { readonly [Name in (typeof spanAttributes)[number]]?: string | number }

export type SpanOptions = {
  readonly kind?: 'server' | 'client' | 'internal'
  readonly attributes?: SpanAttributes
}

/** A span that is recorded. */
export type Span = {
  readonly name: string
  readonly traceId: string
  /** The W3C header value by which another process continues the trace. */
  readonly traceparent: string
  readonly set: (attributes: SpanAttributes) => void
  readonly link: (traceparent: string) => void
  readonly end: (errorType?: string) => void
}

/** What the OpenTelemetry SDK does for us. `start` returns undefined where the sampler leaves the span out. */
export type Tracer = {
  readonly start: (
    name: string,
    options: SpanOptions & { readonly parent?: string | undefined; readonly links?: readonly string[] },
  ) => Span | undefined
  readonly stop: () => Promise<void>
  /** How many spans the collector did not take. */
  readonly countLost: () => number
}

/** The names of OpenTelemetry. */
export const samplerNames = [
  'always_on',
  'always_off',
  'traceidratio',
  'parentbased_always_on',
  'parentbased_always_off',
  'parentbased_traceidratio',
] as const
export type SamplerName = (typeof samplerNames)[number]
