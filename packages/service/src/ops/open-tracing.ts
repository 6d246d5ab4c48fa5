import { AsyncLocalStorage } from 'node:async_hooks'
import type { Context, Span as OtelSpan, TextMapGetter } from '@opentelemetry/api'
import type { Sampler } from '@opentelemetry/sdk-trace'
import { PriorbookError } from '@priorbook/sdk/domain'
import type { SpanAttributes, Tracing } from '../lib/tracing.ts'

/** The packages that traces need; they are loaded only where something is traced. */
type Packages = {
  readonly api: typeof import('@opentelemetry/api')
  readonly core: typeof import('@opentelemetry/core')
  readonly sdk: typeof import('@opentelemetry/sdk-trace')
  readonly resources: typeof import('@opentelemetry/resources')
  readonly exporter: typeof import('@opentelemetry/exporter-trace-otlp-proto')
}

/**
 * Opens tracing by OpenTelemetry: spans go to a collector by OTLP over HTTP. Address, headers, sampling and names come from
 * the standard variables `OTEL_…`. Undefined where `OTEL_SDK_DISABLED` is set.
 */
export async function openTracing(part: string): Promise<Tracing | undefined> {
  const packages = await load()
  const { core, sdk, resources, exporter } = packages
  if (core.getBooleanFromEnv('OTEL_SDK_DISABLED')) return undefined
  const own = resources.resourceFromAttributes({
    'service.name': `priorbook-${part}`,
    'process.pid': process.pid,
  })
  const named = resources.detectResources({ detectors: [resources.envDetector] })
  const delay = core.getNumberFromEnv('OTEL_BSP_SCHEDULE_DELAY')
  const provider = new sdk.TracerProvider({
    resource: resources.defaultResource().merge(own).merge(named),
    sampler: toSampler(packages),
    spanProcessors: [
      new sdk.BatchSpanProcessor({
        exporter: new exporter.OTLPTraceExporter(),
        ...(delay === undefined ? {} : { scheduledDelayMillis: delay }),
      }),
    ],
  })
  return createTracing(packages, provider)
}

async function load(): Promise<Packages> {
  try {
    const [api, core, sdk, resources, exporter] = await Promise.all([
      import('@opentelemetry/api'),
      import('@opentelemetry/core'),
      import('@opentelemetry/sdk-trace'),
      import('@opentelemetry/resources'),
      import('@opentelemetry/exporter-trace-otlp-proto'),
    ])
    return { api, core, sdk, resources, exporter }
  } catch (cause) {
    const detail = `tracing.export needs packages that are not installed: npm install --include=optional (${(cause as Error).message})`
    throw new PriorbookError('invalid_config', detail, { cause })
  }
}

// The samplers of the specification; a collector may sample again.
function toSampler({ core, sdk }: Packages): Sampler {
  const name = core.getStringFromEnv('OTEL_TRACES_SAMPLER') ?? 'parentbased_always_on'
  const share = core.getNumberFromEnv('OTEL_TRACES_SAMPLER_ARG') ?? 1
  const roots: Readonly<Record<string, () => Sampler>> = {
    always_on: () => new sdk.AlwaysOnSampler(),
    always_off: () => new sdk.AlwaysOffSampler(),
    traceidratio: () => new sdk.TraceIdRatioBasedSampler(share),
  }
  const root = roots[name.replace(/^parentbased_/, '')]
  if (root === undefined) {
    const known = Object.keys(roots).flatMap((one) => [one, `parentbased_${one}`])
    const detail = `OTEL_TRACES_SAMPLER is ${name}; it must be one of ${known.join(', ')}`
    throw new PriorbookError('invalid_config', detail)
  }
  if (!name.startsWith('parentbased_')) return root()
  // Clients name their trace and whether it is sampled: neither decides how much this service sends.
  const remote = name.endsWith('traceidratio') ? createDraw(sdk, share) : root()
  return new sdk.ParentBasedSampler({
    root: root(),
    remoteParentSampled: remote,
    remoteParentNotSampled: remote,
  })
}

// Samples a share of requests by lot.
function createDraw({ SamplingDecision }: Packages['sdk'], share: number): Sampler {
  const { RECORD_AND_SAMPLED, NOT_RECORD } = SamplingDecision
  return {
    shouldSample: () => ({ decision: Math.random() < share ? RECORD_AND_SAMPLED : NOT_RECORD }),
    toString: () => `Draw{${share}}`,
  }
}

const HEADERS: TextMapGetter<Readonly<Record<string, unknown>>> = {
  keys: (headers) => Object.keys(headers),
  get(headers, name) {
    const value = headers[name]
    return typeof value === 'string' ? value : undefined
  },
}

function createTracing(
  { api, core }: Packages,
  provider: InstanceType<Packages['sdk']['TracerProvider']>,
): Tracing {
  const tracer = provider.getTracer('priorbook')
  const propagator = new core.W3CTraceContextPropagator()
  // The span whose work runs now.
  const current = new AsyncLocalStorage<Context>()
  const end = (span: OtelSpan, attributes: SpanAttributes = {}, failure?: string): void => {
    span.setAttributes(attributes)
    if (failure !== undefined) {
      span.setStatus({ code: api.SpanStatusCode.ERROR, message: failure })
    }
    span.end()
  }
  return {
    span(name, attributes = {}) {
      const parent = current.getStore() ?? api.ROOT_CONTEXT
      const span = tracer.startSpan(name, { attributes }, parent)
      return { end: (more, failure) => end(span, more, failure) }
    },
    request(headers, attributes) {
      const within = current.getStore()
      const parent = within ?? propagator.extract(api.ROOT_CONTEXT, headers, HEADERS)
      const options = { attributes, kind: api.SpanKind.SERVER }
      const span = tracer.startSpan('HTTP', options, parent)
      const own = api.trace.setSpan(parent, span)
      return {
        rename: (name) => void span.updateName(name),
        run: (work) => current.run(own, work),
        end: (more, failure) => end(span, more, failure),
      }
    },
    close: () => provider.shutdown(),
  }
}
