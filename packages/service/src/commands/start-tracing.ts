import type { Tracing } from '../lib/tracing.ts'

/** Opens tracing. Its packages are loaded here and nowhere else, so that a start without it does not need them. */
export async function startTracing(part: 'api' | 'recorder'): Promise<Tracing | undefined> {
  const { openTracing } = await import('../ops/open-tracing.ts')
  return openTracing(part)
}
